//! Names in the tables of the kernel and of nfs-utils, where blanks and the like are three octal digits behind a
//! backslash (`mangle()` in the kernel's `fs/proc_namespace.c`; `xio.c` of nfs-utils).

/// The name as it is.
pub(crate) fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|code| u8::from_str_radix(code, 8).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                bytes.extend(&part.as_bytes()[3..]);
            }
            None => {
                bytes.push(b'\\');
                bytes.extend(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_octal_digits_are_a_letter() {
        assert_eq!(unescaped("/srv/my\\040pool\\134"), "/srv/my pool\\");
        assert_eq!(unescaped("/srv/\\04\\x"), "/srv/\\04\\x");
    }
}
