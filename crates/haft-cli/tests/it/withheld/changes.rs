//! The ways to change what a rule says must not be changed, as data. Each runs in a separate directory, where `lock.txt`
//! must be afterwards what it was before.

use super::batch::{Attempt, Needs, attempt as a};

/// Lines for a shell.
pub(super) const SHELL: &[Attempt] = &[
    a("echo x > lock.txt"),
    a("echo x >> lock.txt"),
    a("echo x >| lock.txt"),
    a("exec 3<>lock.txt; echo x >&3"),
    a("echo x | tee lock.txt"),
    a("echo x > \"$D/lock.txt\""),
    a("echo x > ./secrets/../lock.txt"),
    a("echo x > hardlock"),
    a("echo x > softlock"),
    a("echo x > /proc/self/cwd/lock.txt"),
    a("echo x > \"/proc/self/root$D/lock.txt\""),
    a("cd / && echo x > \"$D/lock.txt\""),
    a("sed -i s/locked/x/ lock.txt"),
    a("sed -i s/locked/x/ softlock --follow-symlinks"),
    a("echo x > y; cp y lock.txt"),
    a("echo x > y; cp -f y lock.txt"),
    a("echo x > y; cp --remove-destination y lock.txt"),
    a("echo x > y; mv y lock.txt"),
    a("echo x > y; mv -f y lock.txt"),
    a("echo x > y; ln -f y lock.txt"),
    a("echo x > y; ln -sf y lock.txt"),
    a("echo x > y; install y lock.txt"),
    a("rm -f lock.txt"),
    a("rm -f lock.txt; echo x > lock.txt"),
    a("unlink lock.txt"),
    a("truncate -s 0 lock.txt"),
    a("dd if=/dev/zero of=lock.txt count=1 status=none"),
    a("mv lock.txt y; echo x > lock.txt"),
    a("ln lock.txt y; echo x > y"),
    a("cp -l lock.txt y; echo x > y"),
    a("ln -s lock.txt y; echo x > y"),
    a("ln -s \"$D\" y; echo x > y/lock.txt"),
    a("shred -n1 lock.txt"),
    a("echo x > y; tar cf y.tar --transform s/y/lock.txt/ y; tar xf y.tar"),
    a("mv \"$D\" \"$D.moved\"; mkdir \"$D\"; echo x > \"$D/lock.txt\""),
    a("printf -- '--- lock.txt\\n+++ lock.txt\\n@@ -1 +1 @@\\n-locked\\n+x\\n' | git apply -p0"),
    a(
        "git init -q .; git add -A; git -c user.name=a -c user.email=a@b commit -qm 1; echo x > y; git rm -qf lock.txt; true",
    ),
    a("find . -name lock.txt -delete"),
    a("find . -name lock.txt -exec sh -c 'echo x > \"$1\"' sh {} \\;"),
    a("chmod 777 lock.txt; echo x > lock.txt"),
    a("python3 -c \"open('lock.txt', 'w').write('x')\""),
    a("python3 -c \"import os; open('y', 'w').write('x'); os.replace('y', 'lock.txt')\""),
    a("python3 -c \"import os; os.truncate('lock.txt', 0)\""),
    a(
        "python3 -c \"import os; f = os.open('lock.txt', os.O_PATH); open(f'/proc/self/fd/{f}', 'w').write('x')\"",
    ),
    a(
        "python3 -c \"import mmap, os; f = os.open('lock.txt', os.O_RDWR); mmap.mmap(f, 1)[0:1] = b'x'\"",
    ),
    a("(sleep 0.05; echo x > lock.txt) & wait"),
    Attempt { needs: Needs::Program("perl"), ..a("perl -pi -e s/locked/x/ lock.txt") },
    Attempt {
        needs: Needs::Program("perl"),
        ..a("perl -e 'open F, \">\", \"lock.txt\"; print F \"x\"'")
    },
    Attempt {
        needs: Needs::Program("ed"),
        ..a("printf 's/locked/x/\\nw\\nq\\n' | ed -s lock.txt")
    },
    Attempt {
        needs: Needs::Program("vi"),
        ..a("vi -es -u NONE -c 's/locked/x/' -c 'wq!' lock.txt")
    },
    Attempt {
        needs: Needs::Program("node"),
        ..a("node -e \"require('fs').writeFileSync('lock.txt', 'x')\"")
    },
    Attempt {
        needs: Needs::Offer,
        ..a("unshare -Urm sh -c 'mount -o remount,rw,bind lock.txt; echo x > lock.txt'")
    },
    Attempt { needs: Needs::Offer, ..a("unshare -Urm sh -c 'umount lock.txt; echo x > lock.txt'") },
    Attempt { needs: Needs::Offer, ..a("mount -o remount,rw lock.txt; echo x > lock.txt") },
];
