//! What can be told of `.proto` text without parsing it: whether it uses editions, and what it imports.

/// Whether the first statement of a `.proto` file is `edition = …`.
pub(crate) fn uses_editions(text: &str) -> bool {
    let mut tokens = Tokens(text);
    tokens.next() == Some(Token::Word("edition")) && tokens.next() == Some(Token::Other('='))
}

/// The files that a `.proto` file imports, in any way. Of broken text, some.
pub(crate) fn imports(text: &str) -> Vec<String> {
    let mut imports = Vec::new();
    let mut depth = 0_usize;
    let mut begins = true;
    let mut tokens = Tokens(text).peekable();
    while let Some(token) = tokens.next() {
        match token {
            Token::Word("import") if begins && depth == 0 => {
                tokens.next_if(|token| matches!(token, Token::Word("public" | "weak" | "option")));
                let mut name = String::new();
                while let Some(Token::Text(part)) = tokens.next_if(|token| matches!(token, Token::Text(_))) {
                    name.push_str(part);
                }
                imports.push(name);
            }
            Token::Other('{') => depth += 1,
            Token::Other('}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        begins = matches!(token, Token::Other(';' | '}'));
    }
    imports.retain(|name| !name.is_empty());
    imports
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Token<'a> {
    /// An identifier, a keyword or a number.
    Word(&'a str),
    /// What stands between two quotes, as it is spelled.
    Text(&'a str),
    Other(char),
}

/// The rest of a text, token by token. Comments are skipped; what is not closed ends with the text.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            self.0 = self.0.trim_start();
            if let Some(comment) = self.0.strip_prefix("//") {
                self.0 = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(comment) = self.0.strip_prefix("/*") {
                self.0 = comment.split_once("*/").map_or("", |(_, rest)| rest);
            } else {
                break;
            }
        }
        let first = self.0.chars().next()?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if is_word(first) {
            let end = self.0.find(|c| !is_word(c)).unwrap_or(self.0.len());
            let (word, rest) = self.0.split_at(end);
            self.0 = rest;
            return Some(Token::Word(word));
        }
        let rest = &self.0[first.len_utf8()..];
        if first != '"' && first != '\'' {
            self.0 = rest;
            return Some(Token::Other(first));
        }
        let mut escaped = false;
        let end = rest.find(|c| {
            let ends = c == '\n' || (c == first && !escaped);
            escaped = c == '\\' && !escaped;
            ends
        });
        let end = end.unwrap_or(rest.len());
        self.0 = rest.get(end + 1..).unwrap_or("");
        Some(Token::Text(&rest[..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editions() {
        assert!(uses_editions("edition = \"2023\";"));
        assert!(uses_editions("// edition?\n/* yes * */\n\tedition= \"2024\";"));
        assert!(uses_editions("edition/* of */=\"2024\";"));
        assert!(!uses_editions("syntax = \"proto3\"; // edition = 1"));
        assert!(!uses_editions("// edition = \"2023\";"));
        assert!(!uses_editions("editions = 1"));
        assert!(!uses_editions("/* edition = \"2023\";"));
        assert!(!uses_editions(""));
    }

    #[test]
    fn imports_of_all_kinds() {
        let text = r#"
            edition = "2024"; // import "no.proto";
            import "a.proto"; import public 'b.proto';import weak "c.proto"
            ; import option "d.proto"; import "e" /* on */ ".proto";
            option (text) = "import \"f.proto\"; ; import 'g.proto'";
            message M { import import = 1; }
            message import { string s = 1 [default = "\\"]; }
            import "last.proto";"#;
        assert_eq!(imports(text), ["a.proto", "b.proto", "c.proto", "d.proto", "e.proto", "last.proto"]);
        for broken in ["import", "import \"", "import 'a", "}}}import public", "/*", "\"\\", "é\u{0}'é", "import \"\";"]
        {
            assert!(imports(broken).len() < 2, "{broken}");
        }
    }
}
