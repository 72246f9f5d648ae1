//! The page of a table of ciphers: its numbers where they belong, what is missing said, and nothing of it markup.

use hawser_report::{CipherLine, cipher_page};

fn line(what: &str, threads: usize, chunk: usize, layout: Option<&str>) -> CipherLine {
    CipherLine {
        what: what.to_owned(),
        key_bits: 128,
        threads,
        chunk,
        layout: layout.map(str::to_owned),
        ours: 6182.6,
        openssl: Some(6400.0),
        aws_lc: None,
        kernel: Some(1234.4),
        no_kernel: None,
        ratio: Some(0.966),
        spread: 0.014,
        of_contiguous: 0.77,
        call_us: None,
    }
}

#[test]
fn a_line_has_the_speeds_of_all_four_beside_each_other() {
    let lines = [
        line("ECB encrypt", 1, 8 << 10, None),
        line("ECB encrypt", 1, 8 << 10, Some("in place")),
        line("ECB encrypt", 2, 32 << 10, None),
        CipherLine {
            ratio: Some(0.97),
            kernel: None,
            no_kernel: Some(
                "socket AF_ALG gcm(aes): EAFNOSUPPORT: Address family not supported".to_owned(),
            ),
            call_us: Some((4.44, None)),
            ..line("GCM decrypt", 1, 32 << 10, None)
        },
    ];
    let page = cipher_page(&lines, "aes.json", "0.1.0");
    for there in [
        "In 1 of 3 lines Hawser&#39;s AES is as fast as the faster of the two libraries, or at most 3 % slower.",
        "AES-128, one thread, chunks of 32 KiB: MB/s of processor time",
        "<caption>one thread, contiguous: MB/s of processor time</caption>",
        "<caption>2 threads, contiguous: MB/s of processor time</caption>",
        "<th scope=\"row\" class=\"words\">ECB encrypt</th><td class=\"number\">8 KiB</td><td class=\"number\">6 183</td>\
         <td class=\"number\">6 400</td><td class=\"number\">–</td><td class=\"number\">1 234</td>\
         <td class=\"number\">0.97</td><td class=\"number\">0.01</td>",
        "The kernel was not measured: socket AF_ALG gcm(aes): EAFNOSUPPORT",
        "<td class=\"number\">4.4</td><td class=\"number\">–</td>",
        "Drawn by Hawser 0.1.0. Everything on this page is derived from what is printed in aes.json; \
         <code>hawser report aes.json</code> derives it again",
    ] {
        assert!(page.contains(there), "{there}\n{page}");
    }
    // The layout is beside the line that it is of, and nowhere else.
    assert_eq!(page.matches("<td class=\"number\">0.77</td>").count(), 1);
    assert_eq!(cipher_page(&lines, "aes.json", "0.1.0"), page);
}

#[test]
fn without_libraries_and_without_lines_it_is_a_page_all_the_same() {
    let alone = CipherLine {
        openssl: None,
        kernel: None,
        ratio: None,
        ..line("CTR encrypt", 1, 0, None)
    };
    let page = cipher_page(&[alone], "x", "0");
    assert!(page.contains("with no library beside it"), "{page}");
    assert!(cipher_page(&[], "x", "0").contains("How it was measured"));
}

#[test]
fn nothing_that_a_file_says_is_markup_and_no_number_breaks_the_page() {
    let hostile = "\"><script>'&\u{202e}";
    for edge in [0.0, -1.0, 1e300, f64::MAX] {
        let mut one = CipherLine {
            ours: edge,
            openssl: Some(edge),
            ratio: Some(edge),
            no_kernel: Some(hostile.to_owned()),
            call_us: Some((edge, Some(edge))),
            ..line(hostile, usize::MAX, usize::MAX, None)
        };
        let first = one.clone();
        one.layout = Some(hostile.to_owned());
        let page = cipher_page(&[first, one], hostile, hostile);
        for nowhere in ["<script", "NaN", "inf%", "\u{202e}"] {
            assert!(!page.contains(nowhere), "{edge}: {nowhere}");
        }
    }
}
