//! The generated code matches the `.proto` files. `UPDATE=1 cargo xtask verify compat` regenerates it.

use std::path::Path;

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};

/// Crate that contains the generated code. Its own tests would need the code generators, which take as long to build.
const CRATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/quorate-protocol");

/// Messages that also have a JSON form: all of the `v3` packages, and those about leases in the others.
fn in_json(package: &str, message: &str) -> bool {
    let others = ["KeyValue", "ResponseHeader", "AuthenticateRequest", "AuthenticateResponse"];
    package.starts_with("v3") || message.starts_with("Lease") || others.contains(&message)
}

/// Serde attribute of a field, with the JSON form of etcd's gateway.
fn attribute(field: &FieldDescriptorProto) -> String {
    let (name, number) = (field.name(), "number::is_zero");
    let many = field.label() == Label::Repeated;
    let (with, skip) = match field.r#type() {
        Type::Int64 | Type::Uint64 => (Some("number"), number.to_owned()),
        Type::Bytes if many => (Some("keys"), "Vec::is_empty".to_owned()),
        Type::Bytes => (Some("bytes"), "Vec::is_empty".to_owned()),
        Type::Message if !many => (None, "Option::is_none".to_owned()),
        Type::Message => (None, "Vec::is_empty".to_owned()),
        _ => (None, number.to_owned()),
    };
    let skip = skip.replace("number::", "crate::etcd::json::number::");
    let with = with.map_or(String::new(), |with| format!(", with = \"crate::etcd::json::{with}\""));
    format!("#[serde(rename = \"{name}\", skip_serializing_if = \"{skip}\"{with})]")
}

fn generate(into: &Path) {
    let folder = Path::new(CRATE).join("proto");
    let files = ["lock.proto", "election.proto", "rpc.proto", "kv.proto"];
    let set: FileDescriptorSet = protox::compile(files, [folder]).expect("the files make sense");
    let mut config = tonic_prost_build::configure()
        .out_dir(into)
        // The server has one codec for all methods (quorate-service, etcd/methods.rs).
        .build_server(false)
        // The caller supplies the channel.
        .build_transport(false);
    for file in &set.file {
        let chosen = |it: &&DescriptorProto| in_json(file.package(), it.name());
        for message in file.message_type.iter().filter(chosen) {
            let path = format!(".{}.{}", file.package(), message.name());
            let derive = "#[derive(serde::Serialize, serde::Deserialize)]\n#[serde(default)]";
            config = config.type_attribute(&path, derive);
            for field in &message.field {
                let path = format!("{path}.{}", field.name());
                config = config.field_attribute(path, attribute(field));
            }
        }
    }
    config.compile_fds(set).expect("code comes of it");
}

#[test]
fn generated_code_is_that_of_the_files() {
    let folder = Path::new(CRATE).join("src/etcd/generated");
    if std::env::var_os("UPDATE").is_some() {
        generate(&folder);
    }
    let fresh = tempfile::tempdir().expect("a folder");
    generate(fresh.path());
    for name in ["mvccpb.rs", "etcdserverpb.rs", "v3lockpb.rs", "v3electionpb.rs"] {
        let [ours, made] = [folder.as_path(), fresh.path()]
            .map(|folder| std::fs::read_to_string(folder.join(name)).expect("it is there"));
        assert!(ours == made, "{name} is old: run UPDATE=1 cargo xtask verify compat");
    }
}
