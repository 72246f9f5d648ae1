//! A session of libiscsi: the only place in this program where Rust's rules are in our own hands.
//!
//! Each command owns its memory in a [`Pending`], which libiscsi carries as an opaque pointer and
//! gives back exactly once: when the command is answered, or when the session is destroyed, which
//! answers every command that is left (`iscsi_destroy_context`). A login is answered up to twice and
//! owns nothing. A session never leaves its thread.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int, c_void};
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::Duration;

use hawser_client::stamp::{BLOCK, Page};
use hawser_client::target::Target;
use hawser_client::volume::Order;
use socket2::SockRef;

use super::ffi;

/// Bytes in a sector, as every volume of a lab has them.
const SECTOR: u32 = 512;

/// The answer to a command.
pub enum Answer {
    /// Logged in, or not.
    Login(Result<(), String>),
    /// The order with this number; what reads a page brings it.
    Order(u64, Result<Option<Box<Page>>, Refusal>),
    /// A read of any length, with its buffer.
    Chunk(Result<Box<[u8]>, Refusal>),
}

/// Why a command was not obeyed.
pub enum Refusal {
    /// The target said so.
    Target(String),
    /// The session has ended.
    Session,
}

/// Where a command's data is.
enum Data {
    /// Read into.
    Page(Box<Page>),
    /// Read into.
    Chunk(Box<[u8]>),
    /// Written from.
    Sent(Box<[u8]>),
}

impl Data {
    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Page(page) => &mut page.0,
            Self::Chunk(bytes) | Self::Sent(bytes) => bytes,
        }
    }
}

/// A command that has no answer yet.
struct Pending {
    number: u64,
    data: Data,
    answers: Rc<RefCell<Vec<Answer>>>,
}

/// A session with a target at one address.
pub struct Session {
    context: *mut ffi::Context,
    lun: c_int,
    answers: Rc<RefCell<Vec<Answer>>>,
}

impl Session {
    /// Begins to log in at one of a target's addresses. The session's own number (ISID) tells it from others of
    /// the same initiator.
    pub fn login(target: &Target, isid: (u32, u8), portal: &str) -> Result<Self, String> {
        let text = |text: &str| {
            CString::new(text).map_err(|_| "a name, user or secret holds a zero byte".to_owned())
        };
        let (initiator, lun) = (&target.initiator, target.lun);
        let (name, address) = (text(initiator)?, text(portal)?);
        let chap = match &target.chap {
            Some(chap) => Some((text(&chap.user)?, text(&chap.secret)?)),
            None => None,
        };
        let target = text(&target.name)?;
        // SAFETY: the name is a C string, which libiscsi copies (iscsi_create_context, strncpy).
        let context = unsafe { ffi::iscsi_create_context(name.as_ptr()) };
        if context.is_null() {
            return Err(format!("libiscsi: no session for {initiator}"));
        }
        let session = Self {
            context,
            lun: c_int::from(lun),
            answers: Rc::default(),
        };
        let private = Rc::as_ptr(&session.answers).cast_mut().cast();
        // SAFETY: the context is the one made above and lives as long as `session`; the strings
        // are copied. `private` is shared, not given: `session.answers` is dropped after the context
        // (Session::drop), and after that libiscsi calls nothing.
        unsafe {
            ffi::iscsi_set_log_level(context, 0);
            ffi::iscsi_set_targetname(context, target.as_ptr());
            ffi::iscsi_set_session_type(context, 2);
            ffi::iscsi_set_header_digest(context, 0);
            ffi::iscsi_set_noautoreconnect(context, 1);
            ffi::iscsi_set_isid_random(context, isid.0, u32::from(isid.1));
            if let Some((user, secret)) = &chap {
                ffi::iscsi_set_initiator_username_pwd(context, user.as_ptr(), secret.as_ptr());
            }
            let begun = ffi::iscsi_full_connect_async(
                context,
                address.as_ptr(),
                session.lun,
                logged_in,
                private,
            );
            if begun != 0 {
                return Err(format!("{portal}: {}", session.error()));
            }
        }
        Ok(session)
    }

    fn pending(&self, number: u64, data: Data) -> *mut Pending {
        Box::into_raw(Box::new(Pending {
            number,
            data,
            answers: Rc::clone(&self.answers),
        }))
    }

    fn error(&self) -> String {
        // SAFETY: the context lives; libiscsi answers a C string of its own that is valid until the
        // next call (iscsi_get_error), and it is copied at once.
        let said = unsafe { CStr::from_ptr(ffi::iscsi_get_error(self.context)) };
        said.to_string_lossy().into_owned()
    }

    /// Sends an order. False: the session takes none.
    pub fn send(&mut self, number: u64, order: &Order) -> bool {
        let data = match order {
            Order::Write { pages, .. } => {
                Data::Sent(pages.iter().flat_map(|page| page.0).collect())
            }
            Order::Read { .. } => Data::Page(Page::zeroed()),
            Order::Flush => Data::Sent(Box::default()),
        };
        let length = order.blocks().len() * BLOCK;
        let lba = |block: u32| u64::from(block) * u64::from(BLOCK as u32 / SECTOR);
        self.command(number, data, |context, lun, data, private| {
            // SAFETY: `data` points to the `length` bytes that `private` holds, which are not
            // freed before the answer; the context lives.
            unsafe {
                match order {
                    Order::Write { block, fua, .. } => ffi::iscsi_write16_task(
                        context,
                        lun,
                        lba(*block),
                        data,
                        length as u32,
                        SECTOR as c_int,
                        0,
                        0,
                        c_int::from(*fua),
                        0,
                        0,
                        answered,
                        private,
                    ),
                    Order::Read { block } => into(
                        ffi::iscsi_read16_task(
                            context,
                            lun,
                            lba(*block),
                            length as u32,
                            SECTOR as c_int,
                            0,
                            0,
                            0,
                            0,
                            0,
                            answered,
                            private,
                        ),
                        data,
                        length,
                    ),
                    Order::Flush => ffi::iscsi_synchronizecache16_task(
                        context, lun, 0, 0, 0, 0, answered, private,
                    ),
                }
            }
        })
    }

    /// Reads from this block on, of `block_size` bytes, until the buffer is full. False: the session takes
    /// nothing.
    pub fn read(&mut self, lba: u64, block_size: u32, buffer: Box<[u8]>) -> bool {
        let length = buffer.len();
        self.command(0, Data::Chunk(buffer), |context, lun, data, private| {
            // SAFETY: `data` points to the `length` bytes of the buffer in `private`, which is not
            // freed before the answer; the context lives.
            unsafe {
                let task = ffi::iscsi_read16_task(
                    context,
                    lun,
                    lba,
                    length as u32,
                    block_size as c_int,
                    0,
                    0,
                    0,
                    0,
                    0,
                    answered,
                    private,
                );
                into(task, data, length)
            }
        })
    }

    /// Asks for the size (READ CAPACITY 16); the answer's page begins with it.
    pub fn ask_capacity(&mut self, number: u64) -> bool {
        self.command(
            number,
            Data::Page(Page::zeroed()),
            |context, lun, data, private| {
                // SAFETY: as in `send`.
                unsafe {
                    into(
                        ffi::iscsi_readcapacity16_task(context, lun, answered, private),
                        data,
                        BLOCK,
                    )
                }
            },
        )
    }

    /// Asks for the caching mode page (MODE SENSE 6, page 8).
    pub fn ask_caching(&mut self, number: u64) -> bool {
        self.command(
            number,
            Data::Page(Page::zeroed()),
            |context, lun, data, private| {
                // SAFETY: as in `send`.
                unsafe {
                    into(
                        ffi::iscsi_modesense6_task(context, lun, 1, 0, 8, 0, 64, answered, private),
                        data,
                        BLOCK,
                    )
                }
            },
        )
    }

    fn command(
        &mut self,
        number: u64,
        data: Data,
        send: impl FnOnce(*mut ffi::Context, c_int, *mut u8, *mut c_void) -> *mut ffi::Task,
    ) -> bool {
        let pending = self.pending(number, data);
        // SAFETY: `pending` was made just now and nobody else has it yet; the data is a box of
        // its own, so its address stays when the `Pending` moves.
        let data = unsafe { (*pending).data.bytes().as_mut_ptr() };
        let task = send(self.context, self.lun, data, pending.cast());
        if task.is_null() {
            // SAFETY: without a task libiscsi has kept nothing.
            drop(unsafe { Box::from_raw(pending) });
        }
        !task.is_null()
    }

    /// The descriptor and what to poll it for; `None` when the connection is gone.
    pub fn poll(&self) -> Option<(c_int, c_int)> {
        // SAFETY: the context lives.
        let (fd, events) = unsafe {
            (
                ffi::iscsi_get_fd(self.context),
                ffi::iscsi_which_events(self.context),
            )
        };
        (fd >= 0).then_some((fd, events))
    }

    /// Does what can be done now. False: the connection is gone.
    pub fn service(&mut self, revents: c_int) -> bool {
        // SAFETY: the context lives; callbacks run inside this call, on this thread, and touch only
        // what their `Pending` owns.
        unsafe { ffi::iscsi_service(self.context, revents) == 0 }
    }

    /// The answers since the last call.
    pub fn answers(&mut self) -> Vec<Answer> {
        let mut answers = std::mem::take(&mut *self.answers.borrow_mut());
        let said = self.error();
        for answer in &mut answers {
            if let Answer::Order(_, Err(Refusal::Target(why)))
            | Answer::Chunk(Err(Refusal::Target(why)))
            | Answer::Login(Err(why)) = answer
            {
                why.push_str(&said);
            }
        }
        answers
    }
}

impl Drop for Session {
    /// Ends the connection by a reset: what it had not sent yet is thrown away. Closed with a logout, the
    /// kernel would go on sending it, and a write that has long been sent again over another path, and
    /// overwritten, arrives when the first path is mended (seen: four stale blocks, one for each order
    /// in flight).
    fn drop(&mut self) {
        // SAFETY: the context lives; libiscsi answers its descriptor, or -1 when it has none.
        let fd = unsafe { ffi::iscsi_get_fd(self.context) };
        if fd >= 0 {
            let _gone_already =
                with_descriptor(fd, |fd| SockRef::from(&fd).set_linger(Some(Duration::ZERO)));
        }
        // SAFETY: the context was made by `login` and is destroyed once, here. Commands that are
        // left are answered inside this call.
        unsafe { ffi::iscsi_destroy_context(self.context) };
    }
}

/// Lends a session's descriptor.
pub fn with_descriptor<T>(fd: c_int, work: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
    // SAFETY: `fd` is what libiscsi answered for a session that the caller holds, and nothing
    // closes it before the next call into that session.
    work(unsafe { BorrowedFd::borrow_raw(fd) })
}

/// Has a command's data read into a buffer.
///
/// # Safety
/// `data` must stay valid for `length` bytes until the task is answered.
unsafe fn into(task: *mut ffi::Task, data: *mut u8, length: usize) -> *mut ffi::Task {
    if !task.is_null() {
        // SAFETY: the task was made just now; the caller vouches for the buffer. libiscsi copies
        // the pointer and the length.
        unsafe { ffi::scsi_task_add_data_in_buffer(task, length as c_int, data) };
    }
    task
}

/// libiscsi's answer to a command.
///
/// # Safety
/// Called by libiscsi alone, once for each `Pending` that it was given.
unsafe extern "C" fn answered(
    _context: *mut ffi::Context,
    status: c_int,
    data: *mut c_void,
    private: *mut c_void,
) {
    // SAFETY: `private` is the pointer of a `Pending` that Box::into_raw gave, and this is the
    // only time that it comes back.
    let pending = unsafe { Box::from_raw(private.cast::<Pending>()) };
    let Pending {
        number,
        data: read,
        answers,
    } = *pending;
    let status = match status {
        ffi::GOOD => Ok(()),
        status if status >= ffi::CANCELLED => Err(Refusal::Session),
        status => Err(Refusal::Target(format!("status {status:#x}: "))),
    };
    if !data.is_null() {
        // SAFETY: for commands, `command_data` is their task, which is ours to free (iscsi.h).
        unsafe { ffi::scsi_free_scsi_task(data.cast()) };
    }
    answers.borrow_mut().push(match read {
        Data::Page(page) => Answer::Order(number, status.map(|()| Some(page))),
        Data::Sent(_) => Answer::Order(number, status.map(|()| None)),
        Data::Chunk(chunk) => Answer::Chunk(status.map(|()| chunk)),
    });
}

/// libiscsi's answer to a login; it comes a second time when the connection is lost.
///
/// # Safety
/// Called by libiscsi alone, while the session lives.
unsafe extern "C" fn logged_in(
    _context: *mut ffi::Context,
    status: c_int,
    _data: *mut c_void,
    private: *mut c_void,
) {
    let shared: *const RefCell<Vec<Answer>> = private.cast_const().cast();
    // SAFETY: `private` is what `login` gave: the RefCell of a session that lives (see there), and
    // nobody borrows it while libiscsi works.
    let answers = unsafe { &*shared };
    answers.borrow_mut().push(Answer::Login(match status {
        ffi::GOOD => Ok(()),
        _ => Err(format!("log in: status {status:#x}: ")),
    }));
}
