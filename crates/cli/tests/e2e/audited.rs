//! The memory that the audit library keeps for loaded libraries.

use crate::support::Bench;

/// The audit library frees what it reads of a loaded library: a program may load and unload for ever.
#[test]
fn libraries_that_come_and_go() {
    let bench = Bench::new();
    bench.backends();
    let library = bench.compile("libplain.so", "int plain = 7;", &["-shared", "-fPIC"]);
    let source = r#"
        #include <dlfcn.h>
        #include <stdio.h>
        static long private_kib(void) {
            char line[256];
            long kib = -1;
            FILE *file = fopen("/proc/self/status", "r");
            while (file && fgets(line, sizeof line, file)) sscanf(line, "RssAnon: %ld", &kib);
            if (file) fclose(file);
            return kib;
        }
        int main(int argc, char **argv) {
            long before = 0;
            for (int i = 0; i < 3200; i++) {
                if (i == 200) before = private_kib();
                void *handle = dlopen(argv[1], RTLD_NOW);
                if (argc != 2 || !handle) return 1;
                dlclose(handle);
            }
            printf("%ld\n", private_kib() - before);
            return 0;
        }"#;
    let program = bench.compile("comes", source, &["-ldl"]);
    let mut command = bench.cushim(&["run", "--backend", "cpu"]);
    let done = bench.start(command.arg(&program).arg(&library)).done();
    let grown: i64 = done.stdout.trim().parse().unwrap_or_else(|_| panic!("{done:?}"));
    assert!(grown < 500, "{grown} KiB more after 3,000 loads");
}
