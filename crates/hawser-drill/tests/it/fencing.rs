//! What a drill tells of the fencing that it has caused.

use hawser_model::drill::Moment;

use crate::whole::Again;

#[test]
fn a_shot_that_was_cleaned_up_before_the_cluster_was_whole_is_told() {
    let again = Again::with_a_slow_client("stock-power-cut", true);
    let told = again.story().0.fencing.clone();
    assert!(!told.is_empty());
    let mut world = again.world();
    // Failures are cleaned up at every eighth look.
    world.whole_after_s = 30.0;
    let case = again.drill(&world).unwrap();
    assert!(
        world.broken().forgotten > Moment(0),
        "nothing was cleaned up"
    );
    assert_eq!(case.fencing, told);
}
