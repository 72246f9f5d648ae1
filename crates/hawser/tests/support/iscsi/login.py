"""Logs in to an iSCSI target under any name and alias, and stays logged in.

Usage: login.py ADDRESS TARGET NAME ALIAS SECONDS [AGAIN]
NAME and ALIAS may have Python's escapes, such as \\n. With AGAIN it logs in anew, every 1.5 s and whenever it was cut off.
It prints "in" for each login, "cut" when the target ends the session, "refused STATUS" or "away REASON"."""
import socket
import sys
import time


def login(address, target, name, alias):
    keys = {b"InitiatorName": name, b"InitiatorAlias": alias, b"TargetName": target,
            b"SessionType": b"Normal", b"AuthMethod": b"None"}
    end = socket.create_connection((address, 3260), timeout=5)
    command = b"\0\0\0\1"
    # From the security stage to the operational one, and from there to full feature phase.
    for flags, pairs in ((0x81, keys), (0x87, {b"MaxRecvDataSegmentLength": b"8192"})):
        text = b"".join(key + b"=" + value + b"\0" for key, value in pairs.items())
        head = bytes([0x43, flags, 0, 0]) + len(text).to_bytes(4, "big")
        head += bytes([0x80, 0x12, 0x34, 0x56, 0, 1, 0, 0]) + b"\0\0\0\1" + bytes(4) + command + bytes(20)
        end.sendall(head + text + bytes(-len(text) % 4))
        answer = b""
        while len(answer) < 48:
            part = end.recv(48 - len(answer))
            if not part:
                raise OSError("closed in the login")
            answer += part
        end.recv((int.from_bytes(answer[5:8], "big") + 3) // 4 * 4 or 1) if answer[5:8] != bytes(3) else None
        if answer[36]:
            raise PermissionError(answer[36] * 256 + answer[37])
    return end


def main():
    address, target, name, alias, seconds = sys.argv[1:6]
    raw = [word.encode().decode("unicode_escape").encode("latin1") for word in (target, name, alias)]
    over = time.monotonic() + float(seconds)
    again = len(sys.argv) > 6
    while time.monotonic() < over:
        try:
            end = login(address, *raw)
            print("in", flush=True)
            stay = max(0.1, over - time.monotonic())
            end.settimeout(min(1.5, stay) if again else stay)
            while end.recv(4096):
                pass
            print("cut", flush=True)
        except TimeoutError:
            pass
        except PermissionError as refused:
            print("refused %s" % refused, flush=True)
        except OSError as away:
            print("away %s" % away, flush=True)
        if not again:
            return
        end = None
        time.sleep(0.2)


main()
