# Lets haft make user namespaces, which its sandbox needs, where AppArmor forbids them to ordinary programs.
# It allows nothing else, and forbids nothing. Changes belong into local/haft.
abi <abi/4.0>,
include <tunables/global>

profile haft "@PROGRAMS@" flags=(unconfined) {
  userns,

  include if exists <local/haft>
}
