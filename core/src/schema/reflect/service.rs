//! Services and their methods.

use super::{
    super::model::{MethodDef, ServiceDef, ServiceId},
    FileDescriptor, MessageDescriptor, Schema, handle,
};

/// A service of a schema.
#[derive(Clone)]
pub struct ServiceDescriptor {
    schema: Schema,
    id: ServiceId,
}

handle!(ServiceDescriptor, id);

impl ServiceDescriptor {
    pub(super) fn new(schema: &Schema, id: ServiceId) -> Self {
        let schema = schema.clone();
        Self { schema, id }
    }

    /// The schema it is part of.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Its position in the tables.
    pub fn id(&self) -> ServiceId {
        self.id
    }

    /// Its entry in the tables.
    pub fn def(&self) -> &ServiceDef {
        &self.schema.data().services[self.id.index()]
    }

    /// Its name without the package.
    pub fn name(&self) -> &str {
        let full = self.full_name();
        full.rsplit_once('.').map_or(full, |(_, name)| name)
    }

    /// Its full name, without a leading dot.
    pub fn full_name(&self) -> &str {
        &self.def().full_name
    }

    /// The file it is declared in.
    pub fn file(&self) -> FileDescriptor {
        FileDescriptor::new(&self.schema, self.def().file)
    }

    /// Its methods, in declaration order.
    pub fn methods(&self) -> impl Iterator<Item = MethodDescriptor> + '_ {
        (0..self.def().methods.len() as u32).map(|index| MethodDescriptor {
            schema: self.schema.clone(),
            id: self.id,
            index,
        })
    }

    /// The method with this name.
    pub fn method(&self, name: &str) -> Option<MethodDescriptor> {
        self.methods().find(|method| method.name() == name)
    }

    /// The serialized `ServiceOptions`, empty where there are none.
    pub fn options_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().options)
    }
}

/// A method of a service.
#[derive(Clone)]
pub struct MethodDescriptor {
    schema: Schema,
    id: ServiceId,
    index: u32,
}

handle!(MethodDescriptor, id, index);

impl MethodDescriptor {
    /// Its service.
    pub fn service(&self) -> ServiceDescriptor {
        ServiceDescriptor::new(&self.schema, self.id)
    }

    /// Its position among the methods of its service.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Its entry in the tables.
    pub fn def(&self) -> &MethodDef {
        &self.schema.data().services[self.id.index()].methods[self.index as usize]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.def().name
    }

    /// Its full name, `acme.Orders.Get`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.service().full_name(), self.name())
    }

    /// Its path in gRPC, `/acme.Orders/Get`.
    pub fn grpc_path(&self) -> String {
        format!("/{}/{}", self.service().full_name(), self.name())
    }

    /// The request type.
    pub fn input(&self) -> MessageDescriptor {
        MessageDescriptor::new(&self.schema, self.def().input)
    }

    /// The response type.
    pub fn output(&self) -> MessageDescriptor {
        MessageDescriptor::new(&self.schema, self.def().output)
    }

    /// The client sends a stream.
    pub fn is_client_streaming(&self) -> bool {
        self.def().client_streaming
    }

    /// The server sends a stream.
    pub fn is_server_streaming(&self) -> bool {
        self.def().server_streaming
    }

    /// The serialized `MethodOptions`, empty where there are none.
    pub fn options_bytes(&self) -> &[u8] {
        self.schema.data().bytes(&self.def().options)
    }
}
