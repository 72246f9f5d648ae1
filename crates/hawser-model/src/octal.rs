//! Names in the tables of the kernel and of nfs-utils, where blanks and the like are three octal digits behind a
//! backslash (`mangle()` in the kernel's `fs/proc_namespace.c`; `xio.c` of nfs-utils).

/// The name as it is.
pub fn unescaped(text: &str) -> String {
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

/// The name as such a table has it: blanks end a field there (`mangle` of the same file, fstab(5)).
pub fn escaped(text: &str) -> String {
    let backslash = text.replace('\\', "\\134");
    [(' ', "\\040"), ('\t', "\\011"), ('\n', "\\012")]
        .iter()
        .fold(backslash, |text, (blank, digits)| {
            text.replace(*blank, digits)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_octal_digits_are_a_letter() {
        assert_eq!(unescaped("/srv/my\\040pool\\134"), "/srv/my pool\\");
        assert_eq!(unescaped("/srv/\\04\\x"), "/srv/\\04\\x");
        let odd = "/srv/my\tpool \\040\n";
        assert_eq!(unescaped(&escaped(odd)), odd);
        assert_eq!(escaped("/my vms"), "/my\\040vms");
    }
}
