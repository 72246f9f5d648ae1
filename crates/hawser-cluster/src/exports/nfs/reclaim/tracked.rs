//! The list of clients that `nfsdcld` keeps for the kernel: its database, version 4
//! (utils/nfsdcld/sqlite.c of nfs-utils). The table of an epoch has those who hold something; in a grace period there is a
//! second one, of those who may reclaim.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, Error, OpenFlags, Transaction, TransactionBehavior, params};

use super::record::{Bytes, LONGEST, Nfs4Client};

/// Where it is.
pub const DATABASE: &str = "/var/lib/nfs/nfsdcld/main.sqlite";

/// How long it is waited for while the daemon writes.
const BUSY: Duration = Duration::from_secs(2);

/// All who are in it.
pub fn all(database: &Path) -> Result<BTreeSet<Nfs4Client>, Error> {
    let mut connection = open(database)?;
    let transaction = connection.transaction()?;
    let (current, recovery) = epochs(&transaction)?;
    let mut known = BTreeSet::new();
    for epoch in [current, recovery].into_iter().filter(|it| *it != 0) {
        let mut statement =
            transaction.prepare(&format!("SELECT id, princhash FROM {}", table(epoch)))?;
        let rows = statement.query_map([], |row| {
            let principal: Option<Vec<u8>> = row.get(1)?;
            Ok(Nfs4Client {
                name: Bytes(row.get(0)?),
                principal: principal.filter(|it| !it.is_empty()).map(Bytes),
            })
        })?;
        for row in rows {
            let row = row?;
            known.extend((1..=LONGEST).contains(&row.name.0.len()).then_some(row));
        }
    }
    Ok(known)
}

/// Has these be among those who may reclaim after the server's next start: beside those whom it serves, or, with `alone`, nobody
/// else. Who was its client before another head had the pool may have lost its locks there.
pub fn add(database: &Path, clients: &BTreeSet<Nfs4Client>, alone: bool) -> Result<(), Error> {
    let mut connection = open(database)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (current, recovery) = epochs(&transaction)?;
    if alone {
        for epoch in [current, recovery].into_iter().filter(|it| *it != 0) {
            transaction.execute(&format!("DELETE FROM {}", table(epoch)), [])?;
        }
    }
    // A server that starts again within a grace period keeps the list of that period (`sqlite_grace_start`).
    let epoch = if recovery == 0 { current } else { recovery };
    for client in clients {
        let principal = client.principal.as_ref().map(|it| &it.0);
        transaction.execute(
            &format!("INSERT OR IGNORE INTO {} VALUES (?1, ?2)", table(epoch)),
            params![client.name.0, principal],
        )?;
    }
    transaction.commit()
}

fn open(database: &Path) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

/// The present epoch, and that of a grace period or 0.
fn epochs(transaction: &Transaction<'_>) -> Result<(i64, i64), Error> {
    transaction.query_row("SELECT current, recovery FROM grace", [], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

fn table(epoch: i64) -> String {
    format!("\"rec-{epoch:016x}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a server that runs has it, on Debian 12.
    const RUNS: &str = r#"
        CREATE TABLE parameters (key TEXT PRIMARY KEY, value TEXT);
        INSERT INTO parameters VALUES ('version', '4'), ('first_time', '0');
        CREATE TABLE grace (current INTEGER, recovery INTEGER);
        INSERT INTO grace VALUES (3, 0);
        CREATE TABLE "rec-0000000000000003" (id BLOB PRIMARY KEY, princhash blob);
        INSERT INTO "rec-0000000000000003" VALUES (X'6f6e65', NULL);"#;

    /// What `nfsdcld` does at the start of a grace period.
    const GRACE: &str = r#"
        UPDATE grace SET current = 4, recovery = 3;
        CREATE TABLE "rec-0000000000000004" (id BLOB PRIMARY KEY, princhash blob);"#;

    fn client(name: &str, principal: Option<&[u8]>) -> Nfs4Client {
        Nfs4Client {
            name: Bytes(name.into()),
            principal: principal.map(|it| Bytes(it.to_vec())),
        }
    }

    #[test]
    fn clients_are_added_where_the_next_start_looks_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main.sqlite");
        let sql = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        sql(RUNS);
        let one = client("one", None);
        assert_eq!(all(&path).unwrap(), BTreeSet::from([one.clone()]));

        // One that is there stays as it is; a quote is a letter.
        let two = client("two'); DROP TABLE grace; --", Some(b"\0hash"));
        let both = BTreeSet::from([one, two]);
        add(&path, &both, false).unwrap();
        add(&path, &both, false).unwrap();
        assert_eq!(all(&path).unwrap(), both);

        sql(GRACE);
        let three = BTreeSet::from([client("three", None)]);
        add(&path, &three, false).unwrap();
        let may_reclaim: BTreeSet<Nfs4Client> = both.union(&three).cloned().collect();
        assert_eq!(all(&path).unwrap(), may_reclaim);
        let count = |epoch| {
            let connection = Connection::open(&path).unwrap();
            let count = format!("SELECT count(*) FROM {}", table(epoch));
            connection.query_row(&count, [], |row| row.get::<_, i64>(0))
        };
        assert_eq!((count(3), count(4)), (Ok(3), Ok(0)));
        sql("INSERT INTO \"rec-0000000000000004\" SELECT * FROM \"rec-0000000000000003\"");
        add(&path, &three, true).unwrap();
        assert_eq!(all(&path).unwrap(), three);
    }

    #[test]
    fn another_database_is_an_error_and_none_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main.sqlite");
        assert!(all(&path).is_err() && add(&path, &BTreeSet::new(), false).is_err());
        assert!(!path.exists());
        std::fs::write(&path, "no database").unwrap();
        assert!(all(&path).is_err());
    }
}
