-- The schemas of the tests.

return {
  ["everything.proto"] = [[
syntax = "proto3";
package all;

enum Color { RED = 0; GREEN = 1; BLUE = 5; }

message Inner { string note = 1; optional int32 level = 2; Inner inner = 3; }

message Everything {
  int32 i32 = 1; int64 i64 = 2; uint32 u32 = 3; uint64 u64 = 4; sint32 s32 = 5; sint64 s64 = 6; fixed32 f32 = 7; fixed64 f64 = 8;
  sfixed32 sf32 = 9; sfixed64 sf64 = 10; float f = 11; double d = 12; bool b = 13; string s = 14; bytes y = 15; Color color = 16;
  Inner inner = 17;
  repeated int32 li32 = 21; repeated int64 li64 = 22; repeated uint32 lu32 = 23; repeated uint64 lu64 = 24; repeated sint32 ls32 = 25;
  repeated sint64 ls64 = 26; repeated fixed32 lf32 = 27; repeated fixed64 lf64 = 28; repeated sfixed32 lsf32 = 29;
  repeated sfixed64 lsf64 = 30; repeated float lf = 31; repeated double ld = 32; repeated bool lb = 33; repeated string ls = 34;
  repeated bytes ly = 35; repeated Color lcolor = 36; repeated Inner linner = 37;
  map<string, int32> ms = 41; map<int32, string> mi32 = 42; map<int64, bytes> mi64 = 43; map<uint64, Inner> mu64 = 44;
  map<bool, Color> mb = 45; map<fixed32, double> mf32 = 46; map<sint64, bool> ms64 = 47; map<uint32, float> mu32 = 48;
  optional int32 oi32 = 51; optional int64 oi64 = 52; optional bool ob = 53; optional string os = 54; optional double od = 55;
  optional Color ocolor = 56; optional bytes oy = 57;
  oneof pick { int32 pick_i32 = 61; string pick_s = 62; Inner pick_inner = 63; bool pick_b = 64; double pick_d = 65; }
  int32 end = 70;
}
]],
  ["old.proto"] = [[
syntax = "proto2";
package old;

enum State { NEW = 3; DONE = 4; ALSO_DONE = 5; }

message Order {
  required int32 id = 1;
  optional string name = 2 [default = "nobody"];
  optional State state = 3;
  repeated State states = 4;
  optional double price = 5 [default = 1.5];
  optional bool gift = 6 [default = true];
  optional int64 big = 7 [default = -9000000000000000000];
  optional group Stats = 8 { optional int64 ns = 9; repeated int32 tries = 10; }
  optional bytes raw = 11 [default = "\001\377"];
  extensions 100 to 199;
}

extend Order { optional string region = 100; repeated int32 marks = 101; optional Order parent = 102; }
]],
}
