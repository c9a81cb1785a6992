//! The container image: the static program in an otherwise empty image, built with buildah or podman.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::contents::{Contents, DOCUMENTS, copy, empty_folder, normalize, write};
use super::{Release, output};
use crate::programs::is_installed;

/// Builds the image as an OCI archive, which `podman load` and `skopeo copy oci-archive:` read. Returns `None` if neither buildah
/// nor podman is installed.
pub(super) fn build(release: &Release<'_>, contents: &Contents) -> io::Result<Option<PathBuf>> {
    let Some(program) = ["buildah", "podman"].into_iter().find(|program| is_installed(program))
    else {
        eprintln!("    buildah and podman are missing: no image was built");
        return Ok(None);
    };
    let context = empty_folder(release, "image")?;
    copy(&contents.binary, &context, "usr/bin/quorate", 0o755)?;
    let documents = "usr/share/doc/quorate";
    for file in DOCUMENTS {
        copy(&release.root.join(file), &context, &format!("{documents}/{file}"), 0o644)?;
    }
    write(&context, &format!("{documents}/THIRD-PARTY"), &contents.third_party)?;
    fs::create_dir_all(context.join("var/lib/quorate"))?;
    normalize(&context)?;
    // A storage of its own: the images of the machine are neither needed nor changed.
    let storage = empty_folder(release, "image-storage")?;
    let path = release.out.join(format!("{}-image.tar", release.name()));
    if path.exists() {
        fs::remove_file(&path)?;
    }
    let built = pack(release, program, &context, &storage, &path);
    fs::remove_dir_all(&context)?;
    fs::remove_dir_all(&storage)?;
    built.map(|()| Some(path))
}

fn pack(
    release: &Release<'_>,
    program: &str,
    context: &Path,
    storage: &Path,
    path: &Path,
) -> io::Result<()> {
    let tag = format!("quorate:{}", release.version);
    let start = || {
        let mut command = release.command(program);
        command.arg("--root").arg(storage.join("root")).arg("--runroot").arg(storage.join("run"));
        command.args(["--storage-driver", "vfs"]);
        command
    };
    let mut build = start();
    build.args([
        "build",
        "--isolation",
        "chroot",
        "--format",
        "oci",
        "--pull-never",
        "--timestamp",
    ]);
    build
        .arg(release.time.to_string())
        .arg("--file")
        .arg(release.root.join("packaging/Containerfile"));
    output(build.args(["--tag", &tag]).arg(context))?;
    let mut save = start();
    match program {
        "buildah" => save.args(["push", &tag]).arg(format!("oci-archive:{}:{tag}", path.display())),
        _ => save.args(["save", "--format", "oci-archive", "--output"]).arg(path).arg(&tag),
    };
    output(&mut save)?;
    Ok(())
}
