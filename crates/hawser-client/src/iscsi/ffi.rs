//! What is used of libiscsi 1.19 and later (`iscsi/iscsi.h`, `iscsi/scsi-lowlevel.h`). No structure
//! of it is looked into: data is read into buffers of ours.

#![allow(unsafe_code, missing_docs)]

use std::ffi::{c_char, c_int, c_uchar, c_void};

/// A session (`struct iscsi_context`).
#[repr(C)]
pub struct Context {
    _opaque: [u8; 0],
}

/// A command (`struct scsi_task`).
#[repr(C)]
pub struct Task {
    _opaque: [u8; 0],
}

/// `iscsi_command_cb`.
pub type Callback = unsafe extern "C" fn(*mut Context, c_int, *mut c_void, *mut c_void);

/// `SCSI_STATUS_GOOD`.
pub const GOOD: c_int = 0;
/// `SCSI_STATUS_CANCELLED` and above: the session's end, not the target's answer.
pub const CANCELLED: c_int = 0x0f00_0000;

#[link(name = "iscsi")]
unsafe extern "C" {
    pub fn iscsi_create_context(name: *const c_char) -> *mut Context;
    pub fn iscsi_destroy_context(context: *mut Context) -> c_int;
    pub fn iscsi_set_log_level(context: *mut Context, level: c_int);
    pub fn iscsi_set_targetname(context: *mut Context, name: *const c_char) -> c_int;
    pub fn iscsi_set_session_type(context: *mut Context, kind: c_int) -> c_int;
    pub fn iscsi_set_header_digest(context: *mut Context, digest: c_int) -> c_int;
    pub fn iscsi_set_noautoreconnect(context: *mut Context, state: c_int);
    pub fn iscsi_set_isid_random(context: *mut Context, random: u32, qualifier: u32) -> c_int;
    pub fn iscsi_set_initiator_username_pwd(
        context: *mut Context,
        user: *const c_char,
        secret: *const c_char,
    ) -> c_int;
    pub fn iscsi_full_connect_async(
        context: *mut Context,
        portal: *const c_char,
        lun: c_int,
        callback: Callback,
        private: *mut c_void,
    ) -> c_int;
    pub fn iscsi_get_fd(context: *mut Context) -> c_int;
    pub fn iscsi_which_events(context: *mut Context) -> c_int;
    pub fn iscsi_service(context: *mut Context, revents: c_int) -> c_int;
    pub fn iscsi_get_error(context: *mut Context) -> *const c_char;
    pub fn iscsi_write16_task(
        context: *mut Context,
        lun: c_int,
        lba: u64,
        data: *mut c_uchar,
        length: u32,
        block_size: c_int,
        wrprotect: c_int,
        dpo: c_int,
        fua: c_int,
        fua_nv: c_int,
        group: c_int,
        callback: Callback,
        private: *mut c_void,
    ) -> *mut Task;
    pub fn iscsi_read16_task(
        context: *mut Context,
        lun: c_int,
        lba: u64,
        length: u32,
        block_size: c_int,
        rdprotect: c_int,
        dpo: c_int,
        fua: c_int,
        fua_nv: c_int,
        group: c_int,
        callback: Callback,
        private: *mut c_void,
    ) -> *mut Task;
    pub fn iscsi_synchronizecache16_task(
        context: *mut Context,
        lun: c_int,
        lba: u64,
        blocks: u32,
        syncnv: c_int,
        immed: c_int,
        callback: Callback,
        private: *mut c_void,
    ) -> *mut Task;
    pub fn iscsi_readcapacity16_task(
        context: *mut Context,
        lun: c_int,
        callback: Callback,
        private: *mut c_void,
    ) -> *mut Task;
    pub fn iscsi_modesense6_task(
        context: *mut Context,
        lun: c_int,
        dbd: c_int,
        pc: c_int,
        page: c_int,
        sub_page: c_int,
        length: c_uchar,
        callback: Callback,
        private: *mut c_void,
    ) -> *mut Task;
    pub fn scsi_task_add_data_in_buffer(
        task: *mut Task,
        length: c_int,
        data: *mut c_uchar,
    ) -> c_int;
    pub fn scsi_free_scsi_task(task: *mut Task);
}
