//! What is wrong in a source is told where it stands there.

use hawser_import::{Imported, Kind, LineVerdict, Malformed, Options, Source, import};

/// Imports these files, each by its kind's word and its text.
fn imported(files: &[(&str, &str)]) -> Result<Imported, Malformed> {
    let source = |(word, text): &(&str, &str)| Source {
        path: (*word).to_owned(),
        text: (*text).to_owned(),
        kind: Kind::of_word(word).expect("a kind"),
        node: None,
    };
    let sources: Vec<Source> = files.iter().map(source).collect();
    let options = Options {
        name: Some("c".into()),
        pool: None,
        secrets: "/s".into(),
        adopt: false,
    };
    import(&sources, &options)
}

/// The lines of the page with that verdict: `FILE:LINE WHAT: WHY`.
fn lines(imported: &Imported, verdict: LineVerdict) -> Vec<String> {
    let of = imported.page.lines.iter();
    let of = of.filter(|line| line.verdict == verdict);
    of.map(|line| {
        let place = line.place.as_ref().map(ToString::to_string);
        format!("{} {}: {}", place.unwrap_or_default(), line.what, line.why)
    })
    .collect()
}

fn nodes(imported: &Imported) -> usize {
    let text = imported.cluster.as_deref().unwrap_or_default();
    text.matches("[[node]]").count()
}

const TWO: &str = "node head1\nnode head2\nprimitive p_fs Filesystem params device=/dev/disk/by-id/x directory=/srv/a fstype=ext4\n";

#[test]
fn a_fence_device_of_no_node_makes_none() {
    let crm = format!(
        "{TWO}primitive st1 stonith:fence_ipmilan params ip=10.9.9.1 username=u password=p1 pcmk_host_list=head1.example.com\n\
         primitive st2 stonith:external/ipmi params hostname=haed2 ipaddr=10.9.9.2 userid=u passwd=p2 interface=lan\n\
         primitive st3 stonith:fence_apc params ip=10.9.9.3 username=u password=p3 pcmk_host_map=\"HEAD2:4;zz:5\"\n"
    );
    let imported = imported(&[("crm", &crm)]).expect("read");
    assert_eq!(nodes(&imported), 2);
    let mistakes = lines(&imported, LineVerdict::Mistake);
    assert_eq!(
        mistakes,
        [
            "crm:5 \"st2\" fences \"haed2\": there is no node \"haed2\", only head1, head2: did you mean \"head2\"?",
            "crm:6 \"st3\" fences \"zz\": there is no node \"zz\", only head1, head2",
        ]
    );
    let changed = lines(&imported, LineVerdict::Changed);
    for line in [
        "crm:4 \"st1\" fences \"head1.example.com\": \"head1.example.com\" is node head1",
        "crm:6 \"st3\" fences \"HEAD2\": \"HEAD2\" is node head2",
    ] {
        assert!(changed.iter().any(|it| it == line), "{changed:#?}");
    }
    let left = lines(&imported, LineVerdict::Unsaid);
    let line = "crm:5 \"st2\", external/ipmi: it fences no node of the cluster: it is left out";
    assert!(left.iter().any(|it| it == line), "{left:#?}");
    // The password of what is left out is not kept either.
    let secrets: Vec<&str> = imported.secrets.keys().map(String::as_str).collect();
    assert_eq!(secrets, ["head1-bmc", "st3-password"]);
    let text = imported.cluster.expect("a file");
    assert!(text.contains("head2 = \"4\""), "{text}");
}

#[test]
fn levels_and_delays_of_no_node_are_told() {
    let crm = format!(
        "{TWO}primitive st1 stonith:fence_ipmilan params ip=10.9.9.1 username=u password=p pcmk_host_list=head1 \
         pcmk_delay_base=\"head1:5;hed1:6\"\nfencing_topology head1.example.com: st1 haed2: st1\n"
    );
    let imported = imported(&[("crm", &crm)]).expect("read");
    assert_eq!(
        lines(&imported, LineVerdict::Mistake),
        [
            "crm:4 the delay of \"hed1\" in \"st1\": there is no node \"hed1\", only head1, head2: did you mean \"head1\"?",
            "crm:5 a level of fencing of \"haed2\": there is no node \"haed2\", only head1, head2: did you mean \"head2\"?",
        ]
    );
}

#[test]
fn a_device_of_a_remote_node_makes_no_node() {
    let crm = format!(
        "{TWO}primitive far ocf:pacemaker:remote params server=10.9.9.9\n\
         primitive st stonith:fence_ipmilan params ip=10.9.9.1 username=u password=p pcmk_host_list=far\n"
    );
    let imported = imported(&[("crm", &crm)]).expect("read");
    assert_eq!(nodes(&imported), 2);
    assert_eq!(lines(&imported, LineVerdict::Mistake), [""; 0]);
    let line = "crm:5 \"st\" fences \"far\": that node runs no Corosync: Hawser's file has the nodes that do";
    let unsaid = lines(&imported, LineVerdict::Unsaid);
    assert!(unsaid.iter().any(|it| it == line), "{unsaid:#?}");
}

#[test]
fn heartbeats_files_make_no_node_beside_the_list() {
    // The device stands before the list.
    let ha_cf = "stonith_host * external/ipmi aa 10.0.0.1 user secret1 lanplus\nnode alpha beta\nbcast eth0\n\
                 stonith_host beta external/ipmi beta.example 10.0.0.2 user secret2 lanplus\n";
    let haresources =
        "alhpa Filesystem::/dev/sdb::/srv2::ext4\nBETA Filesystem::/dev/sdc::/srv3::ext4\n";
    let imported = imported(&[("ha.cf", ha_cf), ("haresources", haresources)]).expect("read");
    assert_eq!(nodes(&imported), 2);
    assert_eq!(
        lines(&imported, LineVerdict::Mistake),
        [
            "ha.cf:1 stonith_host \"*\" external/ipmi \"aa\": there is no node \"aa\", only alpha, beta",
            "haresources:1 a line of node \"alhpa\": there is no node \"alhpa\", only alpha, beta: did you mean \"alpha\"?",
        ]
    );
    let secrets: Vec<&str> = imported.secrets.keys().map(String::as_str).collect();
    assert_eq!(secrets, ["beta-bmc"]);
    let text = imported.cluster.expect("a file");
    assert!(!text.contains("alhpa") && !text.contains("BETA"), "{text}");
    assert_eq!(text.matches("prefer = ").count(), 1, "{text}");
}

/// Where no source lists the nodes, every name is one.
#[test]
fn without_a_list_names_are_nodes() {
    let haresources = "a Filesystem::/dev/sdb::/srv2::ext4\nb Filesystem::/dev/sdc::/srv3::ext4\n";
    let imported = imported(&[("haresources", haresources)]).expect("read");
    assert_eq!(nodes(&imported), 2);
    assert_eq!(lines(&imported, LineVerdict::Mistake), [""; 0]);
}

#[test]
fn a_controller_is_at_an_address_or_a_name() {
    let ha_cf = "node a b\nbcast eth0\nstonith_host * external/ipmi a bmc-a user secret1 lanplus\n\
                 stonith_host * external/ipmi b 10.0.0.300 user secret2 lanplus\n";
    let imported = imported(&[("ha.cf", ha_cf)]).expect("read");
    let understood = lines(&imported, LineVerdict::Understood);
    let name = "ha.cf:3 stonith_host \"*\" external/ipmi \"a\": its address \"bmc-a\": a name: every head must be able to look it up \
                at the moment when it fences";
    assert!(understood.iter().any(|it| it == name), "{understood:#?}");
    let neither = "ha.cf:4 stonith_host \"*\" external/ipmi \"b\": its address \"10.0.0.300\": it is neither an IP address nor a \
                   host's name: write [node.bmc]";
    let unsaid = lines(&imported, LineVerdict::Unsaid);
    assert!(unsaid.iter().any(|it| it == neither), "{unsaid:#?}");
    assert_eq!(imported.secrets.len(), 1);
}

fn refused(word: &str, text: &str) -> String {
    let error = imported(&[(word, text)]).expect_err("refused");
    format!("{error}; allowed: {}", error.allowed)
}

#[test]
fn an_id_twice_is_refused_at_its_second_line() {
    let crm = format!("{TWO}group p_fs a\n");
    assert_eq!(
        refused("crm", &crm),
        "crm:4: group \"p_fs\", an id that stands at crm:3 as well; allowed: an id that nothing else has"
    );
    let cib = "<cib><configuration><resources>\n<primitive id=\"a\" class=\"ocf\" type=\"Dummy\"/>\n\
               <primitive id=\"a\" class=\"ocf\" type=\"Dummy\"/></resources></configuration></cib>\n";
    assert_eq!(
        refused("cib", cib),
        "cib:3: <primitive> \"a\", an id that stands at cib:2 as well; allowed: an id that nothing else has"
    );
}

#[test]
fn what_a_resource_names_and_is_nowhere_is_told() {
    let crm = format!(
        "{TWO}primitive p_t iSCSITarget params iqn=iqn.2003-01.org:x\n\
         primitive p_l iSCSILogicalUnit params target_iqn=iqn.other lun=1 path=/srv/a/x.img scsi_sn=1\n\
         group g p_fs p_nosuch p_t p_l\n"
    );
    let imported = imported(&[("crm", &crm)]).expect("read");
    assert_eq!(
        lines(&imported, LineVerdict::Mistake),
        [
            "crm:5 target_iqn=\"iqn.other\" of \"p_l\": no iSCSITarget has this iqn",
            "crm:6 group \"g\": there is no resource \"p_nosuch\"",
        ]
    );
}

fn with_address(more: &str) -> Imported {
    let crm = format!("{TWO}primitive p_ip IPaddr2 params {more}\ngroup g p_fs p_ip\n");
    imported(&[("crm", &crm)]).expect("read")
}

#[test]
fn bad_values_of_an_address_are_named() {
    for mask in ["99", "abc", "0", "255.0.255.0"] {
        let imported = with_address(&format!("ip=10.0.0.5 cidr_netmask={mask}"));
        let line = format!(
            "crm:4 the netmask \"{mask}\" of \"p_ip\": a prefix of 10.0.0.5 is a number from 1 to 32; IPv4 has masks such as \
             255.255.255.0 as well"
        );
        assert_eq!(lines(&imported, LineVerdict::Mistake), [line]);
    }
    for mask in ["24", "255.255.255.0"] {
        let imported = with_address(&format!("ip=10.0.0.5 cidr_netmask={mask}"));
        assert_eq!(lines(&imported, LineVerdict::Mistake), [""; 0]);
    }
    let imported = with_address("ip=10.0.0.5 cidr_netmask=24 op start timeout=banana");
    let unsaid = lines(&imported, LineVerdict::Unsaid);
    let line = "crm:4 \"p_ip\" op start timeout=banana: it is no time";
    assert!(unsaid.iter().any(|it| it == line), "{unsaid:#?}");
    // A file without an address that clients have is not complete.
    let imported = with_address("ip=10.0.0.300 cidr_netmask=24");
    let missing = lines(&imported, LineVerdict::Missing);
    let line = "crm:4 an address of pool \"g\": \"10.0.0.300\" is no address";
    assert!(missing.iter().any(|it| it == line), "{missing:#?}");
    assert_eq!(
        refused(
            "haresources",
            "a 10.0.0.5/99/eth0 Filesystem::/dev/sdb::/srv\n"
        ),
        "haresources:1: the prefix \"99\" of \"10.0.0.5/99/eth0\"; allowed: a prefix from 1 to 32"
    );
}

#[test]
fn heartbeats_lines_are_refused_with_their_form() {
    for (line, said) in [
        (
            "bcast",
            "bcast with 0 words behind it; allowed: one or more interfaces",
        ),
        (
            "stonith_host * external/ipmi h 1.2.3.4",
            "stonith_host external/ipmi with 2 words behind it; allowed: stonith_host FROM external/ipmi HOST ADDRESS USER \
             PASSWORD [INTERFACE]",
        ),
        (
            "mcast eth0 225.0.0.1 999999 1 0",
            "the port \"999999\" of mcast; allowed: a number from 1 to 65535",
        ),
        (
            "mcast eth0 225.0.0.1 694 xx 0",
            "the TTL \"xx\" of mcast; allowed: a number from 0 to 255",
        ),
    ] {
        let found = refused("ha.cf", &format!("node a b\n{line}\n"));
        assert_eq!(found, format!("ha.cf:2: {said}"));
    }
    assert_eq!(
        refused("haresources", "a 10.0.0.5/24/eth0 Filesystem::/dev/sdb\n"),
        "haresources:1: \"Filesystem::/dev/sdb\" without a directory; allowed: \
         Filesystem::DEVICE::DIRECTORY[::TYPE[::OPTIONS]]"
    );
}

#[test]
fn times_in_the_wrong_order_are_told_at_their_lines() {
    let ha_cf = "node a b\nkeepalive 10\ndeadtime 20\nwarntime 30\nbcast eth0\n";
    let imported = imported(&[("ha.cf", ha_cf)]).expect("read");
    assert_eq!(
        lines(&imported, LineVerdict::Mistake),
        [
            "ha.cf:4 warntime 30000 ms and deadtime 20000 ms: warntime must be less than deadtime: keepalive < warntime < deadtime"
        ]
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let ha_cf = "\u{feff}node a b\nbcast eth0\n";
    assert_eq!(nodes(&imported(&[("ha.cf", ha_cf)]).expect("read")), 2);
    let cib = "\u{feff}<cib><configuration/></cib>";
    assert_eq!(Kind::of("x", cib), Ok(Kind::Cib));
    imported(&[("cib", cib)]).expect("read");
}

/// `plan` accepts no file that is not there.
#[test]
fn what_has_no_cluster_in_it_is_not_complete() {
    for (word, text) in [
        ("ha.cf", ""),
        ("cib", "<cib><configuration/></cib>"),
        ("saveconfig.json", "{\"storage_objects\": []}"),
    ] {
        let imported = imported(&[(word, text)]).expect("read");
        assert!(!imported.complete() && imported.cluster.is_none(), "{word}");
    }
}

#[test]
fn nothing_of_a_cib_is_left_out_in_silence() {
    let cib = "<cib><configuration>\n<nodez/>\n<nodes><nod/></nodes>\n<resources>\n<frob/>\n\
               <group id=\"g\"><meta_attributes id=\"m\"/></group></resources>\n\
               <constraints>\n<frob/>\n<rsc_colocation id=\"c\"/>\n<rsc_order id=\"o\" first=\"g\"/>\n\
               </constraints></configuration></cib>\n";
    let imported = imported(&[("cib", cib)]).expect("read");
    let left = "no such element is known here: it is left out";
    assert_eq!(
        lines(&imported, LineVerdict::Unsaid),
        [
            format!("cib:2 <nodez>: {left}"),
            format!("cib:3 <nod>: {left}"),
            format!("cib:5 <frob>: {left}"),
            format!("cib:8 <frob>: {left}"),
        ]
    );
    assert_eq!(
        lines(&imported, LineVerdict::Mistake),
        [
            "cib:9 <rsc_colocation> \"c\": it joins fewer than two resources",
            "cib:10 <rsc_order> \"o\": it joins fewer than two resources",
        ]
    );
}

#[test]
fn statements_without_content_are_told() {
    let crm = format!("{TWO}group g\nclone c\nproperty x\nfencing_topology\n");
    let imported = imported(&[("crm", &crm)]).expect("read");
    assert_eq!(
        lines(&imported, LineVerdict::Mistake),
        [
            "crm:4 group \"g\": it has no resource",
            "crm:5 clone \"c\": it has no resource",
            "crm:6 property \"x\": it has no value",
            "crm:7 fencing_topology: it has no device",
        ]
    );
}

#[test]
fn a_location_and_a_delay_name_nodes_as_devices_do() {
    let crm = format!(
        "{TWO}primitive st1 stonith:fence_ipmilan params ip=10.9.9.1 username=u password=p1 pcmk_host_list=head1 \\\n\
         pcmk_delay_base=head1.example.com:5s\nlocation l1 p_fs 100: HEAD1\n"
    );
    let imported = imported(&[("crm", &crm)]).expect("read");
    assert_eq!(lines(&imported, LineVerdict::Mistake), [""; 0]);
    let changed = lines(&imported, LineVerdict::Changed);
    for line in [
        "crm:6 location \"l1\": \"HEAD1\" is node head1",
        "crm:4 the delay of \"head1.example.com\" in \"st1\": \"head1.example.com\" is node head1",
    ] {
        assert!(changed.iter().any(|it| it == line), "{changed:#?}");
    }
    let cluster = imported.cluster.expect("a file");
    assert!(cluster.contains("prefer = \"head1\""), "{cluster}");
}

#[test]
fn a_block_size_that_is_none_is_an_error_at_its_line() {
    let unit =
        "LU Name: 600144F00100000000005AC3351E0003\n    Data File : /dev/zvol/rdsk/tank/lun1\n";
    for size in ["abc", "", "0", "1000", "4096 bytes"] {
        let text = format!("{unit}    Block Size : {size}\n");
        let error = imported(&[("list-lu", &text)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("list-lu:3: Block Size \"{size}\"")
        );
    }
}

#[test]
fn one_id_of_two_sources_is_an_error_that_names_both() {
    let first = format!("{TWO}primitive ip1 IPaddr2 params ip=192.0.2.1\n");
    let cib =
        "<cib><configuration><resources>\n<group id=\"ip1\"/>\n</resources></configuration></cib>";
    let error = imported(&[("crm", &first), ("cib", cib)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "crm:4: resource \"ip1\", an id that stands at cib:2 as well"
    );
}

#[test]
fn a_secret_that_the_source_does_not_have_is_told_and_never_made_up() {
    let text = format!(
        "{TWO}primitive st1 stonith:fence_ipmilan params ip=10.9.0.1 username=u password=lrm:// pcmk_host_list=head1\n\
         primitive st2 stonith:fence_redfish params ip=10.9.0.2 username=u \
         password_script=\"cat /etc/hawser/secrets/fence-head2\" pcmk_host_list=head2\n\
         primitive st3 stonith:fence_apc_snmp params ip=10.9.0.3 community=lrm:// snmp_priv_passwd_script=/usr/local/bin/of-ours \
         login_script=/usr/local/bin/who pcmk_host_map=\"head1:1;head2:2\"\n"
    );
    let imported = imported(&[("crm", &text)]).unwrap();
    assert!(imported.secrets.is_empty(), "{:?}", imported.secrets.keys());
    let unsaid = lines(&imported, LineVerdict::Unsaid).join("\n");
    for told in [
        "the password of \"st1\"",
        "the password of \"st2\": the source does not have it: put it into the file st2-password",
        "the community of \"st3\"",
        "the snmp_priv_passwd of \"st3\"",
        "login_script of \"st3\"",
    ] {
        assert!(unsaid.contains(told), "{told}: {unsaid}");
    }
    let text = imported.cluster.unwrap();
    assert!(
        !text.contains("lrm://") && text.contains("st2-password"),
        "{text}"
    );
}

#[test]
fn an_agent_speaks_the_ipmi_that_it_spoke() {
    let of = |agent: &str, more: &str| {
        let text = format!(
            "{TWO}primitive st1 stonith:{agent} params ip=10.9.0.1 username=u password=p pcmk_host_list=head1 {more}\n"
        );
        let text = imported(&[("crm", &text)]).unwrap().cluster.unwrap();
        !text.contains("lanplus = false")
    };
    assert!(!of("fence_ipmilan", "") && of("fence_ipmilan", "lanplus=1"));
    assert!(!of("fence_idrac", "") && of("fence_idrac", "lanplus=on"));
    assert!(of("fence_ilo4", "") && !of("fence_ilo4", "lanplus=0"));
}
