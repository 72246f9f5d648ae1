//! The site of the documentation (`make docs`): every page and every cause has its place, and a link that leads nowhere is found.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace")
}

/// Runs the script in this tree; nothing where there is no python3.
fn make(tree: &Path, arguments: &[&str], mdbook: &Path) -> Option<Output> {
    let ran = Command::new("python3")
        .arg(root().join("packaging/docs-site/make"))
        .args(arguments)
        .env("MDBOOK", mdbook)
        .current_dir(tree)
        .output();
    match ran {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            println!("skipped: no python3 here");
            None
        }
        ran => Some(ran.expect("python3 runs")),
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_page_and_every_cause_is_in_the_table_of_contents() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("docs").display().to_string();
    let Some(ran) = make(&root(), &["--sources", &to], Path::new("none")) else {
        return;
    };
    assert!(ran.status.success(), "{}", said(&ran));
    let read = |name: &str| {
        fs::read_to_string(Path::new(&to).join("src").join(name))
            .unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let contents = read("SUMMARY.md");
    let listed: Vec<&str> = contents
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    let once: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(once.len(), listed.len(), "a page stands twice:\n{contents}");
    let pages = fs::read_dir(root().join("docs")).expect("docs");
    let pages = pages.map(|entry| entry.expect("an entry").file_name());
    let pages: Vec<String> = pages
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.ends_with(".md"))
        .collect();
    assert!(pages.len() > 20, "{pages:?}");
    for page in pages {
        assert!(once.contains(page.as_str()), "{page}:\n{contents}");
    }
    for code in hawser_account::pages() {
        let page = format!("causes/{code}.md");
        assert!(once.contains(page.as_str()), "{page}:\n{contents}");
        assert!(read(&page).starts_with(&format!("# {code}\n")), "{page}");
        assert!(
            read("causes/index.md").contains(&format!("[{code}]({code}.md)")),
            "{code}"
        );
    }
}

/// A tree with one page and one cause, and these links in the page.
fn tree(links: &str) -> tempfile::TempDir {
    let tree = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| {
        let path = tree.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    put(
        "README.md",
        "# R\n\n## Verbs\n\n[page](docs/page.md#a-cut-of-2-s)\n",
    );
    put("CONTRIBUTING.md", "# C\n");
    put("CHANGELOG.md", "# L\n");
    put("bench/README.md", "# B\n");
    put("examples/a.toml", "a = 1\n");
    put(
        "docs/page.md",
        &format!(
            "# Page\n\n## A `cut` of 2 s\n\n{links}\n\n```\n# no heading [none](none.md)\n```\n"
        ),
    );
    put(
        "crates/hawser-account/src/causes/half_duplex/page.md",
        "# half-duplex\n\nSlow.\n",
    );
    tree
}

const CAUSE: &str = "../crates/hawser-account/src/causes/half_duplex/page.md";

#[test]
fn links_are_turned_to_the_addresses_of_the_site() {
    let tree = tree(&format!(
        "[half-duplex]({CAUSE}#half-duplex), [file](../examples/a.toml), [all](../crates/hawser-account/src/causes/), \
         [here](#page), `[code](none.md)`, [web](https://example.org/)"
    ));
    let Some(ran) = make(tree.path(), &["--sources", "out"], Path::new("none")) else {
        return;
    };
    assert!(ran.status.success(), "{}", said(&ran));
    let page = fs::read_to_string(tree.path().join("out/src/page.md")).expect("a page");
    for turned in [
        "[half-duplex](causes/half-duplex.md#half-duplex)",
        "[file](files/examples/a.toml)",
        "[all](causes/index.md)",
        "[here](page.md#page)",
        "`[code](none.md)`",
        "[web](https://example.org/)",
    ] {
        assert!(page.contains(turned), "{turned}:\n{page}");
    }
    assert!(tree.path().join("out/src/files/examples/a.toml").is_file());
}

#[test]
fn a_link_that_leads_nowhere_is_an_error_with_its_place() {
    for (link, wrong) in [
        ("other.md", "docs/other.md is no file"),
        (
            "../CONTRIBUTING.md#no-heading",
            "CONTRIBUTING.md has no heading #no-heading",
        ),
        ("#no-heading", "docs/page.md has no heading #no-heading"),
        ("../examples/", "examples is no file"),
        ("../../etc/passwd", "../etc/passwd is no file"),
    ] {
        let tree = tree(&format!("[there]({link})"));
        let Some(ran) = make(tree.path(), &["--sources", "out"], Path::new("none")) else {
            return;
        };
        let error = format!("docs/page.md:5: link to {link}: {wrong}\n");
        assert_eq!(said(&ran), error);
        assert_eq!(ran.status.code(), Some(1));
    }
}

/// What stands in for mdbook writes the pages, and in the first of them these links.
fn site(links: &str) -> Option<Output> {
    let tree = tree("");
    let mdbook = tree.path().join("mdbook");
    let pages = "page contributing changelog bench schemas causes/index causes/half-duplex";
    let script = format!(
        "#!/bin/sh\nmkdir -p out/site/causes\nfor page in {pages}; do echo '<h1 id=\"there\">' >out/site/$page.html; done\n\
         echo '{links}' >out/site/index.html\n"
    );
    fs::write(&mdbook, script).expect("written");
    fs::set_permissions(&mdbook, fs::Permissions::from_mode(0o755)).expect("a program");
    make(tree.path(), &["out"], &mdbook)
}

#[test]
fn the_site_itself_is_checked_too() {
    let links = |pages: &[&str]| -> String {
        let link = |page: &&str| format!("<a href=\"{page}\">x</a>");
        pages.iter().map(link).collect()
    };
    let all = [
        "page.html#there",
        "contributing.html",
        "changelog.html",
        "bench.html",
        "schemas.html",
        "causes/index.html",
        "causes/half-duplex.html",
    ];
    let Some(ran) = site(&links(&all)) else {
        return;
    };
    assert!(ran.status.success(), "{}", said(&ran));
    for (instead, wrong) in [
        (
            "page.html#nowhere",
            "out/site/index.html: link to page.html#nowhere: no such anchor",
        ),
        (
            "none.html",
            "out/site/index.html: link to none.html: no such file in the site",
        ),
        ("bench.html", "out/site/page.html: no link leads there"),
    ] {
        let mut pages = all;
        pages[0] = instead;
        let Some(ran) = site(&links(&pages)) else {
            return;
        };
        assert_eq!(ran.status.code(), Some(1), "{instead}");
        assert!(said(&ran).contains(wrong), "{}", said(&ran));
    }
}
