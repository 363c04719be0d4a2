//! Paths of field masks: `foo_bar.baz` in messages, `fooBar.baz` in JSON.

/// Appends a path in lowerCamelCase, `None` where [`push_snake`] would not give it back.
pub(super) fn push_camel(out: &mut String, path: &str) -> Option<()> {
    let mut after_underscore = false;
    for c in path.chars() {
        match c {
            'A'..='Z' => return None,
            '_' if !after_underscore => after_underscore = true,
            'a'..='z' if after_underscore => {
                out.push(c.to_ascii_uppercase());
                after_underscore = false;
            }
            _ if after_underscore => return None,
            ',' => return None,
            c if c.is_whitespace() => return None,
            c => out.push(c),
        }
    }
    (!after_underscore && !path.is_empty()).then_some(())
}

/// Appends a path in snake_case, `None` where it is no path in lowerCamelCase.
pub(super) fn push_snake(out: &mut String, path: &str) -> Option<()> {
    for c in path.chars() {
        match c {
            'A'..='Z' => out.extend(['_', c.to_ascii_lowercase()]),
            '_' | ',' => return None,
            c if c.is_whitespace() => return None,
            c => out.push(c),
        }
    }
    (!path.is_empty()).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_round_trip_or_are_refused() {
        for (snake, camel) in
            [("foo", "foo"), ("foo_bar.baz_q", "fooBar.bazQ"), ("_foo", "Foo"), ("a1_b", "a1B"), ("*", "*")]
        {
            let (mut there, mut back) = (String::new(), String::new());
            push_camel(&mut there, snake).unwrap();
            assert_eq!(there, camel);
            push_snake(&mut back, camel).unwrap();
            assert_eq!(back, snake);
        }
        for bad in ["fooBar", "foo_3_bar", "foo__bar", "foo_", "", "a,b", "foo_.bar"] {
            assert_eq!(push_camel(&mut String::new(), bad), None, "{bad}");
        }
        for bad in ["foo_bar", "", "foo bar", "_"] {
            assert_eq!(push_snake(&mut String::new(), bad), None, "{bad}");
        }
    }
}
