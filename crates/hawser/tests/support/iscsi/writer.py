#!/usr/bin/env python3
"""Writes blocks to a unit through libiscsi, reads each back, and says what it met.

Usage: writer.py PORTAL IQN LUN SECONDS
It works for so many seconds, and then until standard input ends; or to its first error.
Prints one line: commands, unit attentions, other errors, wrong data, reconnects. A unit attention is repeated, as
SCSI wants it of an initiator; libiscsi hands it to its user.
"""
import ctypes
import os
import select
import sys
import time

portal, iqn, lun, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
lib = ctypes.CDLL("libiscsi.so.7")
CHECK_CONDITION, UNIT_ATTENTION, BLOCK = 2, 6, 512


class Task(ctypes.Structure):
    # The head of struct scsi_task of scsi-lowlevel.h.
    _fields_ = [
        ("status", ctypes.c_int),
        ("cdb_size", ctypes.c_int),
        ("direction", ctypes.c_int),
        ("expected", ctypes.c_int),
        ("cdb", ctypes.c_ubyte * 16),
        ("residual_status", ctypes.c_int),
        ("residual", ctypes.c_size_t),
        ("sense_type", ctypes.c_ubyte),
        ("sense_key", ctypes.c_int),
        ("sense_ascq", ctypes.c_int),
    ]


for name in ("iscsi_create_context", "iscsi_write10_sync", "iscsi_read10_sync"):
    getattr(lib, name).restype = ctypes.c_void_p
lib.iscsi_get_error.restype = ctypes.c_char_p


class Data(ctypes.Structure):
    _fields_ = [("size", ctypes.c_int), ("data", ctypes.c_void_p)]


counts = {"commands": 0, "attentions": 0, "errors": 0, "wrong": 0}
context = ctypes.c_void_p(lib.iscsi_create_context(b"iqn.2026-01.lab:writer"))
lib.iscsi_set_targetname(context, iqn.encode())
lib.iscsi_set_session_type(context, 2)
lib.iscsi_set_noautoreconnect(context, 1)
if lib.iscsi_full_connect_sync(context, portal.encode(), lun) != 0:
    sys.exit("login: " + lib.iscsi_get_error(context).decode())


def command(call):
    while True:
        task = call()
        counts["commands"] += 1
        if not task:
            counts["errors"] += 1
            return None
        head = Task.from_address(task)
        if head.status == 0:
            return task
        attention = head.status == CHECK_CONDITION and head.sense_key == UNIT_ATTENTION
        lib.scsi_free_scsi_task(ctypes.c_void_p(task))
        if not attention:
            counts["errors"] += 1
            return None
        counts["attentions"] += 1


end = time.time() + seconds
lba = 0


def is_told_to_end():
    return time.time() >= end and select.select([sys.stdin], [], [], 0)[0]


while not counts["errors"] and not is_told_to_end():
    block = os.urandom(BLOCK)
    task = command(lambda: lib.iscsi_write10_sync(context, lun, lba, block, BLOCK, BLOCK, 0, 0, 0, 0, 0))
    if task:
        lib.scsi_free_scsi_task(ctypes.c_void_p(task))
    out = ctypes.create_string_buffer(BLOCK)
    task = command(lambda: lib.iscsi_read10_sync(context, lun, lba, BLOCK, BLOCK, 0, 0, 0, 0, 0))
    if task:
        # struct scsi_data follows the sense; its place is found by its size.
        words = (ctypes.c_int * 64).from_address(task)
        at = next(i for i in range(16, 60, 2) if words[i] == BLOCK)
        data = Data.from_address(task + 4 * at)
        if ctypes.string_at(data.data, BLOCK) != block:
            counts["wrong"] += 1
        lib.scsi_free_scsi_task(ctypes.c_void_p(task))
    lba = (lba + 1) % 4096
print(" ".join(f"{name}={count}" for name, count in counts.items()))
