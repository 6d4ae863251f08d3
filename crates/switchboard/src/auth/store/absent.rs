//! That nothing is kept is told quickly, and as reading tells it.

use std::fs;
use std::os::unix::fs::symlink;

use super::tests::{numbered, set_mode, store};

#[test]
fn that_there_is_none_is_told_as_reading_tells_it() {
    let (_home, store) = store();
    let kept = numbered(1);
    let check = |wanted: bool| {
        assert_eq!(store.has_none(&kept.id), wanted);
        assert_eq!(matches!(store.read(&kept.id), Ok(None)), wanted);
    };
    check(true);
    store.write(&kept).unwrap();
    check(false);
    set_mode(&store.path(&kept.id), 0o666);
    check(false);
    fs::remove_file(store.path(&kept.id)).unwrap();
    check(true);
    symlink("nowhere", store.path(&kept.id)).unwrap();
    check(false);
    fs::remove_file(store.path(&kept.id)).unwrap();
    set_mode(&store.dir, 0o777);
    check(false);
}
