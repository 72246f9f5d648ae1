//! A headless Chromium, driven over the pipe of its DevTools protocol: what it says of a page is what a reader's
//! browser does, and no script has to be put into the page to ask.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// For one answer, on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page. It ends with the value.
pub struct Chromium {
    child: Child,
    input: ChildStdin,
    output: Receiver<Value>,
    session: Option<String>,
    last: u64,
    /// What the page has said unasked since the last look.
    pub events: Vec<Value>,
    _profile: TempDir,
}

impl Chromium {
    /// Starts one; `None` where there is none that runs. A snap's does not count: it does not see /tmp.
    pub fn start() -> Option<Self> {
        let path = Path::new("/usr/bin/chromium");
        let version = Command::new(path).arg("--version").output().ok()?;
        if !version.status.success() {
            return None;
        }
        let profile = tempfile::tempdir().expect("a folder");
        // Its pipe is descriptors 3 and 4 (`--remote-debugging-pipe`).
        let mut child = Command::new("sh")
            .arg("-c")
            .arg("exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1")
            .args(["sh", "/usr/bin/chromium", "--headless=new", "--no-sandbox"])
            .args(["--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking"])
            .arg("--remote-debugging-pipe")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh runs");
        let input = child.stdin.take().expect("a pipe");
        let messages = BufReader::new(child.stdout.take().expect("a pipe")).split(0);
        let (told, output) = channel();
        thread::spawn(move || {
            for message in messages.map_while(Result::ok) {
                let value = serde_json::from_slice(&message).expect("a message is JSON");
                if told.send(value).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            child,
            input,
            output,
            session: None,
            last: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.ask("Target.attachToTarget", attach);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Network", "Log", "Runtime"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and gives its result. Events that come first are kept.
    #[track_caller]
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        write!(self.input, "{message}\0").expect("it listens");
        loop {
            let mut answer = self.message(method);
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// Opens what is at an address and waits until it is shown.
    #[track_caller]
    pub fn visit(&mut self, url: &str) {
        self.events.clear();
        self.ask("Page.navigate", json!({ "url": url }));
        while !self
            .events
            .iter()
            .any(|e| e["method"] == "Page.loadEventFired")
        {
            let event = self.message("the page's load");
            self.events.push(event);
        }
    }

    /// What an expression comes to in the page.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let answer = self.ask("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// How wide the page is in a window of that width, and how wide the window then is.
    pub fn widths(&mut self, width: u64) -> (u64, u64) {
        let screen =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", screen);
        let found = self.value("[document.documentElement.scrollWidth, innerWidth]");
        (found[0].as_u64().unwrap(), found[1].as_u64().unwrap())
    }

    /// The page by day or by night.
    pub fn seen(&mut self, scheme: &str) -> Seen {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.ask(
            "Emulation.setEmulatedMedia",
            json!({ "features": [feature] }),
        );
        let style = "getComputedStyle(document.body)";
        let colours = self.value(&format!("[{style}.color, {style}.backgroundColor]"));
        assert_ne!(colours[0], colours[1], "text of its background's colour");
        let picture = self.ask("Page.captureScreenshot", json!({ "format": "png" }));
        Seen {
            colours,
            picture: picture["data"].as_str().unwrap().to_owned(),
        }
    }

    /// What the page has asked for.
    pub fn requested(&self) -> Vec<String> {
        let asked = self.said("Network.requestWillBeSent");
        let url = |event: &Value| {
            event["params"]["request"]["url"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        asked.map(url).collect()
    }

    /// Nothing went wrong in the page, as far as the browser says.
    #[track_caller]
    pub fn has_nothing_to_complain_of(&self) {
        for complaint in [
            "Log.entryAdded",
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
        ] {
            let all: Vec<&Value> = self.said(complaint).collect();
            assert!(all.is_empty(), "{all:?}");
        }
    }

    fn said(&self, method: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |e| e["method"] == method)
    }

    #[track_caller]
    fn message(&self, awaited: &str) -> Value {
        let message = self.output.recv_timeout(PATIENCE);
        message.unwrap_or_else(|e| panic!("chromium, waiting for {awaited}: {e}"))
    }
}

/// How a page looks.
pub struct Seen {
    /// Of the text and of what is behind it.
    pub colours: Value,
    /// A picture of it, in base64.
    pub picture: String,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Its other processes end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
