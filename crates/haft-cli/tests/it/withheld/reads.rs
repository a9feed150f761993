//! The ways to read what a rule denies, as data. Each runs in a separate directory and prints the secret if it gets it.
//! `$D` is that directory, `$T` an empty one elsewhere, `$O` another root, `$R` the first root.

use super::batch::{Attempt, Needs, attempt as a};

/// Lines for a shell.
pub(super) const SHELL: &[Attempt] = &[
    // The names of the file.
    a("cat .env"),
    a("cat < .env"),
    a("cat ./.env"),
    a("cat \"$D/.env\""),
    a("cat \"//$D//.//.env\""),
    a("cat secrets/../.env"),
    a("cat softdir/../.env"),
    a("cat \"../$(basename \"$D\")/.env\""),
    a("cat hard"),
    a("cat soft"),
    a("cat chain"),
    a("cat secrets/key"),
    a("cat softdir/key"),
    a("cat hardkey"),
    a("cat secrets/deep/er/key2"),
    a("cat secrets/public.txt secrets/key"),
    a("cat .e*"),
    a("cat .??v"),
    a("cat .[e]nv"),
    a("cat {.env,none}"),
    a("x=.en; cat ${x}v"),
    a("cat $(printf '\\056env')"),
    a("for f in .*; do [ -f \"$f\" ] && cat \"$f\"; done"),
    a("eval 'c''at .e''nv'"),
    a("cat \"$O/.env\""),
    a("cat \"$O/../other/.env\""),
    a("ln -s \"$O/.env\" x; cat x"),
    a("cp -r \"$O\" \"$T/o\"; cat \"$T/o/.env\""),
    a("cd \"$O\" && cat .env"),
    // Programs that print files.
    a("head -n1 .env"),
    a("tail -c 100 .env"),
    a("tac .env"),
    a("nl .env"),
    a("rev .env | rev"),
    a("od -An -v -c .env | tr -d ' \\n'"),
    a("base64 .env | base64 -d"),
    a("dd if=.env status=none"),
    a("sed -n p .env"),
    a("sed '' soft"),
    a("awk 1 .env"),
    a("awk 'BEGIN { while ((getline line < \".env\") > 0) print line }'"),
    a("grep . .env"),
    a("grep -r TOKEN ."),
    a("grep -rh TOKEN= \"$D\""),
    a("grep -R TOKEN softdir/"),
    a("sort .env"),
    a("uniq .env"),
    a("cut -c1- .env"),
    a("paste .env"),
    a("fold .env"),
    a("fmt .env"),
    a("pr .env"),
    a("expand .env"),
    a("tr a a < .env"),
    a("tee < .env"),
    a("shuf .env"),
    a("comm .env /dev/null"),
    a("diff .env /dev/null"),
    a("diff -rN . \"$T\""),
    a("split .env part- && cat part-aa"),
    a("date -f .env 2>&1"),
    a("wc --files0-from=.env 2>&1"),
    a("sort --files0-from=.env 2>&1"),
    a("xargs -a .env echo"),
    a("echo .env | xargs cat"),
    a("find . -name .env -exec cat {} \\;"),
    a("find . -name .env -print0 | xargs -0 cat"),
    a("find . -type f -exec cat {} +"),
    a("find -L softdir -type f -exec cat {} +"),
    a("readlink -f soft | xargs cat"),
    a("gzip -c .env | gzip -dc"),
    Attempt { needs: Needs::Program("xxd"), ..a("xxd -p .env | xxd -r -p") },
    Attempt { needs: Needs::Program("strings"), ..a("strings .env") },
    Attempt { needs: Needs::Program("gcc"), ..a("gcc -E -P -x c .env") },
    Attempt { needs: Needs::Program("jq"), ..a("jq -Rr . .env") },
    Attempt {
        needs: Needs::Program("sqlite3"),
        ..a("sqlite3 :memory: \"select cast(readfile('.env') as text)\"")
    },
    Attempt { needs: Needs::Program("openssl"), ..a("openssl enc -base64 -in .env | base64 -d") },
    Attempt { needs: Needs::Program("curl"), ..a("curl -s \"file://$D/.env\"") },
    Attempt { needs: Needs::Program("make"), ..a("make -f .env -p 2>&1 | grep TOKEN") },
    // The shell itself.
    a(". ./.env; echo \"$TOKEN\""),
    a("source .env && echo \"$TOKEN\""),
    a("set -a; . ./.env; env"),
    a("read x < .env; echo \"$x\""),
    a("mapfile x < .env; echo \"${x[0]}\""),
    a("echo \"$(<.env)\""),
    a("while read l; do echo \"$l\"; done < .env"),
    a("exec 3<.env; cat <&3"),
    a("exec 3<>.env; cat <&3"),
    a("cat /dev/fd/4 4<.env"),
    a("bash -v .env 2>&1"),
    a("BASH_ENV=.env bash -c 'echo $TOKEN'"),
    a("coproc cat .env; cat <&${COPROC[0]}"),
    a("bash -c 'cat .env'"),
    a("sh -c 'cat .env'"),
    a("env cat .env"),
    a("nice cat .env"),
    a("timeout 5 cat .env"),
    a("setsid -w cat .env"),
    a("nohup cat .env 2>&1"),
    a("(sleep 0.05; cat .env) & wait"),
    a("setsid bash -c 'cat .env > late' & sleep 0.3; cat late"),
    // Copies, links and moves made meanwhile.
    a("cp .env x && cat x"),
    a("cp -a .env x; cat x"),
    a("cp -L soft x; cat x"),
    a("cp -l .env x; cat x"),
    a("cp -s \"$D/.env\" x; cat x"),
    a("cp -r . \"$T/x\"; cat \"$T/x/.env\""),
    a("cp -r secrets \"$T/\"; cat \"$T/secrets/key\""),
    a("install .env x && cat x"),
    a("ln .env x; cat x"),
    a("ln -L soft x; cat x"),
    a("ln secrets/key x; cat x"),
    a("ln hard x; cat x"),
    a("ln -s .env x; cat x"),
    a("ln -s \"$D\" x; cat x/.env"),
    a("ln -s secrets x; cat x/key"),
    a("ln -s / x; cat \"x$D/.env\""),
    a("mv .env x; cat x"),
    a("mv hard x; cat x"),
    a("mv secrets s2; cat s2/key"),
    a("mkdir x; mv secrets x/; cat x/secrets/key"),
    a("mv \"$D\" \"$D.moved\"; cat \"$D.moved/.env\""),
    a("mv \"$D\" \"$T/\"; cat \"$T\"/*/.env"),
    a("chmod 777 .env; cat .env"),
    a("chmod -R 777 .; cat secrets/key"),
    // Archives and git.
    a("tar cf - .env | tar xOf -"),
    a("tar cf - . | tar xOf - ./.env"),
    a("tar czf x.tgz secrets; tar xzOf x.tgz"),
    a("tar chf - soft | tar xOf -"),
    a("tar cf - hard | tar xOf -"),
    Attempt {
        needs: Needs::Program("zip"),
        ..a(
            "zip -qr x.zip . ; python3 -c \"import zipfile; print(zipfile.ZipFile('x.zip').read('.env'))\"",
        )
    },
    a("git init -q .; git add -f .env; git show :.env"),
    a("git init -q .; git hash-object -w .env | xargs git cat-file -p"),
    a("git init -q .; git add -A; git grep --cached TOKEN"),
    a("git diff --no-index /dev/null .env"),
    a("git diff --no-index . \"$T\""),
    a("git grep --no-index TOKEN"),
    a("git -c alias.x='!cat .env' x"),
    a(
        "git init -q .; git stash list; git hash-object --stdin-paths -w <<< .env | xargs git cat-file -p",
    ),
    // Editors.
    Attempt { needs: Needs::Program("vi"), ..a("vi -es -u NONE -c '%p' -c 'q!' .env") },
    Attempt { needs: Needs::Program("vi"), ..a("vi -es -u NONE -c 'r .env' -c '%p' -c 'q!' none") },
    Attempt { needs: Needs::Program("ed"), ..a("printf ',p\\nq\\n' | ed -s .env") },
    Attempt { needs: Needs::Program("ed"), ..a("printf 'r .env\\n,p\\nQ\\n' | ed -s") },
    // Paths of the process file system.
    a("cat /proc/self/cwd/.env"),
    a("cat /proc/$$/cwd/.env"),
    a("cat \"/proc/self/root$D/.env\""),
    a("cat \"/proc/$$/root$D/.env\""),
    a("exec 3<. ; cat /proc/self/fd/3/.env"),
    a("exec 3<. ; cd / ; cat /proc/self/fd/3/secrets/key"),
    a("exec 3<secrets; cat /proc/self/fd/3/key"),
    a("exec 3<secrets/public.txt; cat /proc/self/fd/3/../key; cat secrets/./key"),
    a("cd /proc/self/cwd && cat .env"),
    a("dd if=/proc/self/cwd/.env status=none"),
    a("cd / && cat \"${D#/}/.env\""),
    a("cd secrets && cat key"),
    Attempt { needs: Needs::Offer, ..a("cat \"/proc/1/root$D/.env\"") },
    Attempt { needs: Needs::Offer, ..a("for p in /proc/[0-9]*; do cat \"$p/root$D/.env\"; done") },
    // Mounts and namespaces.
    Attempt { needs: Needs::Offer, ..a("unshare -Ur cat .env") },
    Attempt { needs: Needs::Offer, ..a("unshare -Urm sh -c 'umount .env; cat .env'") },
    Attempt { needs: Needs::Offer, ..a("unshare -Urm sh -c 'umount -l \"$D/.env\"; cat .env'") },
    Attempt {
        needs: Needs::Offer,
        ..a("unshare -Urm sh -c 'mkdir m; mount --bind . m; cat m/.env'")
    },
    Attempt {
        needs: Needs::Offer,
        ..a("unshare -Urm sh -c 'mkdir m; mount --rbind / m; cat \"m$D/.env\"'")
    },
    Attempt {
        needs: Needs::Offer,
        ..a(
            "unshare -Urm sh -c 'mkdir m; mount -t overlay o -o lowerdir=\"$D\":/etc m; cat m/.env'",
        )
    },
    Attempt { needs: Needs::Offer, ..a("chroot / cat \"$D/.env\"") },
    Attempt { needs: Needs::Offer, ..a("nsenter -t 1 -m cat \"$D/.env\"") },
    // Interpreters.
    a("python3 -c \"print(open('.env').read())\""),
    a("python3 - <<< \"print(open('.env').read())\""),
    a("printf 'print(open(\".env\").read())' > x.py; python3 x.py"),
    Attempt { needs: Needs::Program("perl"), ..a("perl -pe '' .env") },
    Attempt {
        needs: Needs::Program("perl"),
        ..a("perl -e 'do \"./.env\"; open F, \".env\"; print <F>'")
    },
    Attempt {
        needs: Needs::Program("perl"),
        ..a("perl -MFile::Copy -e 'copy(\".env\", \"x\"); open F, \"x\"; print <F>'")
    },
    Attempt {
        needs: Needs::Program("perl"),
        ..a(
            "perl -e 'rename \".env\", \"x\"; link \"hard\", \"y\"; @ARGV = (\"x\", \"y\"); print <>'",
        )
    },
    Attempt {
        needs: Needs::Program("perl"),
        ..a("perl -e 'opendir D, \".\"; @ARGV = grep { -f } readdir D; print <>'")
    },
    Attempt {
        needs: Needs::Program("perl"),
        ..a("perl -e 'sysopen F, \"secrets/key\", 0; sysread F, $x, 99; print $x'")
    },
    Attempt {
        needs: Needs::Program("gcc"),
        ..a("printf '#include \".env\"\\n' > x.c; gcc -E -P x.c")
    },
];

/// Statements of Python, in one process for all.
pub(super) const PYTHON: &[Attempt] = &[
    a("print(open('.env').read())"),
    a("print(open(b'.env', 'rb').read())"),
    a("print(open('.env', 'r+').read())"),
    a("print(os.read(os.open('.env', os.O_RDONLY), 99))"),
    a("print(os.read(os.open('.env', os.O_RDWR), 99))"),
    a("print(pathlib.Path('.env').read_text())"),
    a("print(io.FileIO('.env').readall())"),
    a("f = os.open('.env', os.O_RDONLY); print(mmap.mmap(f, 0, prot=mmap.PROT_READ)[:])"),
    a("r, w = os.pipe(); f = os.open('.env', 0); os.sendfile(w, f, 0, 99); print(os.read(r, 99))"),
    a("r, w = os.pipe(); f = os.open('.env', 0); os.splice(f, w, 99); print(os.read(r, 99))"),
    a(
        "f = os.open('.env', 0); g = os.open('x', os.O_RDWR | os.O_CREAT); os.copy_file_range(f, g, 99); print(os.pread(g, 99, 0))",
    ),
    a("shutil.copyfile('.env', 'x'); print(open('x').read())"),
    a("shutil.copytree('.', T + '/x'); print(open(T + '/x/.env').read())"),
    a(
        "shutil.copytree('secrets', T + '/y', ignore_dangling_symlinks=True); print(open(T + '/y/key').read())",
    ),
    a("os.link('.env', 'x'); print(open('x').read())"),
    a("os.link('hardkey', 'x'); print(open('x').read())"),
    a("os.symlink('.env', 'x'); print(open('x').read())"),
    a("os.symlink(D + '/secrets', 'x'); print(open('x/key').read())"),
    a("os.rename('.env', 'x'); print(open('x').read())"),
    a("os.rename('secrets', 'x'); print(open('x/key').read())"),
    a("os.replace('hard', 'x'); print(open('x').read())"),
    a(
        "t = tarfile.open('x.tar', 'w'); t.add('.env'); t.close(); print(tarfile.open('x.tar').extractfile('.env').read())",
    ),
    a("z = zipfile.ZipFile('x.zip', 'w'); z.write('.env'); print(z.read('.env'))"),
    a("print([open(f).read() for f in glob.glob('.*') if os.path.isfile(f)])"),
    a("print([open(os.path.join(d, f)).read() for d, _, fs in os.walk('.') for f in fs])"),
    a("print([open(e.path).read() for e in os.scandir('.') if e.is_file()])"),
    a("print(list(fileinput.input('.env')))"),
    a("print(linecache.getlines(D + '/.env'))"),
    a("d = os.open('.', os.O_RDONLY); print(os.read(os.open('.env', 0, dir_fd=d), 99))"),
    a("d = os.open('secrets', os.O_PATH); print(os.read(os.open('key', 0, dir_fd=d), 99))"),
    a("p = os.open('.env', os.O_PATH); print(open(f'/proc/self/fd/{p}').read())"),
    a("p = os.open('secrets', os.O_PATH); print(open(f'/proc/self/fd/{p}/key').read())"),
    a("os.chdir('secrets'); print(open('key').read())"),
    a("os.fchdir(os.open('secrets', os.O_PATH)); print(open('key').read())"),
    a("print(open('/proc/self/cwd/.env').read())"),
    a("print(open('/proc/self/root' + D + '/.env').read())"),
    a("print(open('/proc/thread-self/cwd/.env').read())"),
    a(
        "c = ctypes.CDLL(None); b = ctypes.create_string_buffer(99); c.read(c.open(b'.env', 0), b, 99); print(b.value)",
    ),
    a(
        "c = ctypes.CDLL(None); b = ctypes.create_string_buffer(99); c.read(c.syscall(257, -100, b'.env', 0, 0), b, 99); print(b.value)",
    ),
    a(
        "c = ctypes.CDLL(None); h = (ctypes.c_uint64 * 3)(0, 0, 0); b = ctypes.create_string_buffer(99); c.read(c.syscall(437, -100, b'.env', h, 24), b, 99); print(b.value)",
    ),
    a("print(subprocess.run(['cat', '.env'], capture_output=True).stdout)"),
    a("print(subprocess.run('cat .env', shell=True, capture_output=True).stdout)"),
    a(
        "r, w = os.pipe(); p = os.fork() or (os.write(w, open('.env', 'rb').read()), os._exit(0)); os.close(w); print(os.read(r, 99))",
    ),
    a("t = threading.Thread(target=lambda: print(open('.env').read())); t.start(); t.join()"),
    a("print(urllib.request.urlopen('file://' + D + '/.env').read())"),
    a("print(codecs.open('.env').read())"),
    a("print(importlib.machinery.SourceFileLoader('x', '.env').get_data('.env'))"),
    a("exec(open('.env').read().replace('=', '=\"') [:-1] + '\"'); print(TOKEN)"),
    a("os.chmod('.env', 0o777); print(open('.env').read())"),
    a("print(open(O + '/.env').read())"),
    a("print(open('hard').read(), open('soft').read())"),
    a(
        "print(sqlite3.connect('file:.env?mode=ro&immutable=1', uri=True)); print(open('secrets/deep/er/key2').read())",
    ),
    Attempt {
        needs: Needs::Offer,
        ..a(
            "c = ctypes.CDLL(None, use_errno=True); c.unshare(0x10020000); c.umount2(b'.env', 2); print(open('.env').read())",
        )
    },
    Attempt {
        needs: Needs::Offer,
        ..a(
            "c = ctypes.CDLL(None); f = c.syscall(428, -100, D.encode(), 0x8001); print(os.read(os.open('.env', 0, dir_fd=f), 99))",
        )
    },
];

/// Statements of JavaScript, in one process for all.
pub(super) const NODE: &[Attempt] = &[
    a("console.log(fs.readFileSync('.env', 'utf8'))"),
    a("console.log(fs.readFileSync(Buffer.from('.env'), 'utf8'))"),
    a("console.log(fs.readFileSync(new URL('file://' + D + '/.env'), 'utf8'))"),
    a(
        "const b = Buffer.alloc(99); fs.readSync(fs.openSync('.env', 'r'), b); console.log(b.toString())",
    ),
    a("fs.copyFileSync('.env', 'x'); console.log(fs.readFileSync('x', 'utf8'))"),
    a("fs.linkSync('.env', 'x'); console.log(fs.readFileSync('x', 'utf8'))"),
    a("fs.symlinkSync('.env', 'x'); console.log(fs.readFileSync('x', 'utf8'))"),
    a("fs.renameSync('.env', 'x'); console.log(fs.readFileSync('x', 'utf8'))"),
    a("fs.renameSync('secrets', 'x'); console.log(fs.readFileSync('x/key', 'utf8'))"),
    a(
        "fs.cpSync('secrets', T + '/x', {recursive: true}); console.log(fs.readFileSync(T + '/x/key', 'utf8'))",
    ),
    a(
        "for (const f of fs.readdirSync('.')) if (fs.statSync(f).isFile()) console.log(fs.readFileSync(f, 'utf8'))",
    ),
    a("console.log(child.execSync('cat .env').toString())"),
    a("console.log(child.spawnSync('cat', ['secrets/key']).stdout.toString())"),
    a("console.log(fs.readFileSync('hard', 'utf8'), fs.readFileSync('soft', 'utf8'))"),
    a("process.chdir('secrets'); console.log(fs.readFileSync('key', 'utf8'))"),
];
