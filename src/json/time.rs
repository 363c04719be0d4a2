//! Timestamps and durations as text. Pure functions on seconds and nanoseconds.

use crate::convert::number::push_integer;

/// 0001-01-01T00:00:00Z
const FIRST_SECOND: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z
const LAST_SECOND: i64 = 253_402_300_799;
/// 10,000 years
const LONGEST_SECONDS: i64 = 315_576_000_000;
const NANOS: i32 = 1_000_000_000;

/// Appends a timestamp without quotes, `None` where it is out of range.
pub(super) fn push_timestamp(out: &mut Vec<u8>, seconds: i64, nanos: i32) -> Option<()> {
    if !(FIRST_SECOND..=LAST_SECOND).contains(&seconds) || !(0..NANOS).contains(&nanos) {
        return None;
    }
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date_of(days);
    push_padded(out, year as u64, 4);
    out.push(b'-');
    push_padded(out, month as u64, 2);
    out.push(b'-');
    push_padded(out, day as u64, 2);
    out.push(b'T');
    push_padded(out, (second / 3600) as u64, 2);
    out.push(b':');
    push_padded(out, (second / 60 % 60) as u64, 2);
    out.push(b':');
    push_padded(out, (second % 60) as u64, 2);
    push_fraction(out, nanos.unsigned_abs());
    out.push(b'Z');
    Some(())
}

/// Appends a duration without quotes, `None` where it is out of range.
pub(super) fn push_duration(out: &mut Vec<u8>, seconds: i64, nanos: i32) -> Option<()> {
    let signs_differ = (seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0);
    if seconds.unsigned_abs() > LONGEST_SECONDS as u64 || nanos.unsigned_abs() >= NANOS as u32 || signs_differ {
        return None;
    }
    if seconds < 0 || nanos < 0 {
        out.push(b'-');
    }
    push_integer(out, seconds.unsigned_abs());
    push_fraction(out, nanos.unsigned_abs());
    out.push(b's');
    Some(())
}

/// No digits, three, six or nine.
fn push_fraction(out: &mut Vec<u8>, nanos: u32) {
    let (value, width) = match nanos {
        0 => return,
        _ if nanos.is_multiple_of(1_000_000) => (nanos / 1_000_000, 3),
        _ if nanos.is_multiple_of(1_000) => (nanos / 1_000, 6),
        _ => (nanos, 9),
    };
    out.push(b'.');
    push_padded(out, value.into(), width);
}

fn push_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let begin = out.len();
    out.resize(begin + width, b'0');
    let mut rest = value;
    for digit in out[begin..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// Reads a timestamp, with any offset from UTC.
pub(super) fn parse_timestamp(text: &str) -> Option<(i64, i32)> {
    let mut rest = Digits(text.as_bytes());
    let year = rest.fixed(4)?;
    rest.byte(b'-')?;
    let month = rest.fixed(2)?;
    rest.byte(b'-')?;
    let day = rest.fixed(2)?;
    rest.byte(b'T')?;
    let hour = rest.fixed(2)?;
    rest.byte(b':')?;
    let minute = rest.fixed(2)?;
    rest.byte(b':')?;
    let second = rest.fixed(2)?;
    let nanos = rest.fraction()?;
    let offset = match rest.0 {
        [b'Z'] => 0,
        [sign @ (b'+' | b'-'), zone @ ..] => {
            let mut zone = Digits(zone);
            let hours = zone.fixed(2)?;
            zone.byte(b':')?;
            let minutes = zone.fixed(2)?;
            if hours > 23 || minutes > 59 || !zone.0.is_empty() {
                return None;
            }
            let offset = hours * 3600 + minutes * 60;
            if *sign == b'+' { offset } else { -offset }
        }
        _ => return None,
    };
    let date_fits = year >= 1 && (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    if !date_fits || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = days_of(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    (FIRST_SECOND..=LAST_SECOND).contains(&seconds).then_some((seconds, nanos))
}

/// Reads a duration.
pub(super) fn parse_duration(text: &str) -> Option<(i64, i32)> {
    let text = text.strip_suffix('s')?;
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut rest = Digits(text.as_bytes());
    let count = rest.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 || count > 18 {
        return None;
    }
    let seconds = rest.fixed(count)?;
    let nanos = rest.fraction()?;
    if !rest.0.is_empty() || seconds > LONGEST_SECONDS {
        return None;
    }
    Some(if negative { (-seconds, -nanos) } else { (seconds, nanos) })
}

struct Digits<'t>(&'t [u8]);

impl Digits<'_> {
    fn byte(&mut self, wanted: u8) -> Option<()> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        (byte == wanted).then_some(())
    }

    /// Exactly so many digits, at most 18.
    fn fixed(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.iter().try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0')))
    }

    /// A point and one to nine digits, as nanoseconds; 0 where there is no point.
    fn fraction(&mut self) -> Option<i32> {
        if self.0.first() != Some(&b'.') {
            return Some(0);
        }
        self.0 = &self.0[1..];
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&count) {
            return None;
        }
        let value = self.fixed(count)? * 10i64.pow(9 - count as u32);
        i32::try_from(value).ok()
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days before the first of each month, in years that begin in March (so that leap days come last).
fn days_before(month_from_march: i64) -> i64 {
    (153 * month_from_march + 2) / 5
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 719,468 days from 0000-03-01 to 1970-01-01.
    year * 365 + leap_days + days_before(month) + day - 1 - 719_468
}

/// The date so many days after 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    // A guess by the mean length of a year is at most one year late.
    let mut year = days * 400 / 146_097 + 1;
    while days_of(year, 3, 1) + 719_468 > days {
        year -= 1;
    }
    let day_of_year = days - (days_of(year, 3, 1) + 719_468);
    let month = (day_of_year * 5 + 2) / 153;
    let day = day_of_year - days_before(month) + 1;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(seconds: i64, nanos: i32) -> Option<String> {
        let mut out = Vec::new();
        push_timestamp(&mut out, seconds, nanos)?;
        Some(String::from_utf8(out).unwrap())
    }

    fn duration(seconds: i64, nanos: i32) -> Option<String> {
        let mut out = Vec::new();
        push_duration(&mut out, seconds, nanos)?;
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn every_day_of_ten_thousand_years_round_trips() {
        let (first, last) = (FIRST_SECOND / 86_400, LAST_SECOND / 86_400);
        let (mut year, mut month, mut day) = (1, 1, 1);
        for days in first..=last {
            assert_eq!(date_of(days), (year, month, day));
            assert_eq!(days_of(year, month, day), days);
            day += 1;
            if day > days_in(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (10_000, 1, 1));
    }

    #[test]
    fn timestamps_are_written_with_no_three_six_or_nine_digits() {
        assert_eq!(timestamp(0, 0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(-1, 999_999_999).unwrap(), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(timestamp(0, 10_000_000).unwrap(), "1970-01-01T00:00:00.010Z");
        assert_eq!(timestamp(0, 10_000).unwrap(), "1970-01-01T00:00:00.000010Z");
        assert_eq!(timestamp(FIRST_SECOND, 0).unwrap(), "0001-01-01T00:00:00Z");
        assert_eq!(timestamp(LAST_SECOND, 999_999_999).unwrap(), "9999-12-31T23:59:59.999999999Z");
        for (seconds, nanos) in
            [(FIRST_SECOND - 1, 0), (LAST_SECOND + 1, 0), (0, -1), (0, NANOS), (i64::MAX, 0), (i64::MIN, 0)]
        {
            assert_eq!(timestamp(seconds, nanos), None);
        }
    }

    #[test]
    fn timestamps_are_read_strictly() {
        assert_eq!(parse_timestamp("1970-01-01T08:00:01+08:00"), Some((1, 0)));
        assert_eq!(parse_timestamp("1969-12-31T16:00:01.5-08:00"), Some((1, 500_000_000)));
        assert_eq!(parse_timestamp("1993-02-10T00:00:00.000Z"), Some((729_302_400, 0)));
        assert_eq!(parse_timestamp("2000-02-29T00:00:00Z"), Some((951_782_400, 0)));
        assert_eq!(parse_timestamp("0001-01-01T00:00:00Z"), Some((FIRST_SECOND, 0)));
        for bad in [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-01-01 00:00:00Z",
            "1970-01-01t00:00:00Z",
            "1970-01-01T00:00:00z",
            "0000-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "1970-13-01T00:00:00Z",
            "1970-00-01T00:00:00Z",
            "1970-01-00T00:00:00Z",
            "1970-01-32T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:60:00Z",
            "1970-01-01T00:00:60Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00.1234567890Z",
            "1970-01-01T00:00:00+24:00",
            "1970-01-01T00:00:00+0100",
            "1970-01-01T00:00:00Z ",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "+970-01-01T00:00:00Z",
            "1970-01-01T00:00:00é",
        ] {
            assert_eq!(parse_timestamp(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_have_one_sign() {
        assert_eq!(duration(0, 0).unwrap(), "0s");
        assert_eq!(duration(0, -500_000_000).unwrap(), "-0.500s");
        assert_eq!(duration(-1, -1).unwrap(), "-1.000000001s");
        assert_eq!(duration(LONGEST_SECONDS, 999_999_999).unwrap(), "315576000000.999999999s");
        for (seconds, nanos) in [(LONGEST_SECONDS + 1, 0), (1, -1), (-1, 1), (0, NANOS), (0, -NANOS), (i64::MIN, 0)] {
            assert_eq!(duration(seconds, nanos), None);
        }
        assert_eq!(parse_duration("1.5s"), Some((1, 500_000_000)));
        assert_eq!(parse_duration("-0.5s"), Some((0, -500_000_000)));
        assert_eq!(parse_duration("-315576000000.999999999s"), Some((-LONGEST_SECONDS, -999_999_999)));
        for bad in [
            "",
            "s",
            "1",
            "-s",
            "+1s",
            "1.s",
            ".5s",
            "1.0000000000s",
            "315576000001s",
            "--1s",
            "1 s",
            "99999999999999999999s",
        ] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }
}
