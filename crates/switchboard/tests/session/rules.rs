//! The rules of a session, each with the tests that show it. Where nothing else is said, they are in this directory.
//!
//! Before a server is connected:
//!
//! - One of the words `connecting`, `connected` and `disconnected` fits at any time, or a finer one:
//!   `the_word_for_a_server_follows_its_life`; `life`: `a_crash_loop_is_suspended`.
//! - All are tried at once, and one that fails costs nobody else anything: `start`:
//!   `every_server_is_asked_and_one_bad_one_costs_nobody_else_anything`; `failure_table`.
//! - Where it comes from is known first: `where_a_server_comes_from_is_known_before_it_is_connected`.
//! - What is up or on its way is left alone by a reload: `life`: `a_reload_touches_only_what_changed`;
//!   `a_reload_leaves_a_pending_connection_alone`, `a_reload_leaves_a_server_that_is_tried_again_alone`.
//! - An entry is checked before anything of it is tried: `failure_table`:
//!   `an_invalid_entry_is_an_error_and_nothing_of_it_is_tried`.
//! - Values are filled in for each connection and kept nowhere: `variables_are_filled_in_anew_for_each_connection`,
//!   `headers_are_filled_in_anew_for_each_connection`; `resolve/commands` on what `!command` gave.
//! - It is up when its tools are known: `a_server_counts_as_connected_when_its_tools_are_there`.
//! - The cache is a help and no need: `a_cache_that_cannot_be_kept_costs_nothing`.
//! - Resources, templates and prompts come after the tools, and each by itself: `a_list_that_fails_costs_only_itself`.
//! - A limit of 0 is none, and one variable overrides them all: `a_limit_of_zero_is_none`,
//!   `the_variable_overrides_the_limit_of_every_server`.
//! - One that could not be opened leaves no process: `a_server_that_could_not_be_opened_leaves_no_process`.
//!
//! The start:
//!
//! - It is over when every server is live, failed or known from before, or the window is:
//!   `a_start_is_over_when_every_server_is_live_or_failed`, `a_warm_start_waits_for_nobody`; `start`:
//!   `somebody_in_front_of_it_never_waits_longer_than_the_window`,
//!   `without_a_cache_a_headless_start_waits_for_their_own_limits_and_reports_each`.
//! - Cached tools can be called at once: `calls`: `a_cached_tool_can_be_called_at_once_and_waits_for_its_server`.
//! - What is late joins, or is told to have failed: `tools_join_when_they_arrive`,
//!   `live_tools_take_the_place_of_the_cached_ones_of_that_server_alone`; `failure_table`:
//!   `tools_that_fail_to_come_after_the_start_are_told`.
//! - The order is that of the names: `start`: `the_same_servers_give_the_same_bytes`; `scale`.
//!
//! While it lives:
//!
//! - What is lost is made anew, after pauses: `life`: `a_lost_server_comes_back_and_its_tools_stay_meanwhile`;
//!   `a_server_that_comes_back_is_asked_for_its_tools_again`,
//!   `a_call_to_an_address_that_is_away_waits_for_it_and_goes_out_once`; `connect/machine`:
//!   `the_ladder_and_what_comes_after_it`.
//! - What fails at first is tried again: `a_server_that_fails_at_first_is_tried_again_and_joins`.
//! - All who wait share one attempt: `all_who_wait_for_a_server_share_one_reconnect`.
//! - What goes again and again is left alone until the user wants it:
//!   `a_suspended_server_is_left_alone_until_somebody_asks_for_it`; `scale`: `a_crash_loop_takes_ten_starts_at_most`.
//! - What wants a login waits for one:
//!   `a_login_that_is_wanted_is_told_and_nothing_is_tried_until_somebody_asks`.
//! - A call goes out once more only where that is safe: `calls`:
//!   `a_call_whose_server_dies_is_not_repeated_unless_that_is_safe`; `once`.
//! - Who waits for a server that does not come is told: `a_call_that_waits_for_a_server_ends_when_that_does_not_come`.
//! - Changes are fetched, not one by one: `life`: `ten_thousand_changes_are_a_few_fetches_and_the_last_is_seen`,
//!   `a_modern_server_tells_of_changes_too`; `lists_besides_the_tools_are_fetched_again_when_they_change`.
//! - What a limit cut off is told: `a_list_that_is_cut_is_a_problem`.
//! - Names, approvals and failures: `a_name_that_was_good_never_comes_to_mean_another_tool`,
//!   `a_rule_of_the_settings_holds_whatever_the_spelling`, `what_a_cached_tool_says_of_itself_loosens_nothing`,
//!   `each_failure_has_its_class`; `calls`: `a_yes_for_always_is_for_the_tool_as_it_was`.
//!
//! The end:
//!
//! - What is disconnected is no loss: `a_server_that_is_disconnected_stays_so_until_it_is_needed`,
//!   `a_server_that_is_disconnected_while_it_connects_does_not_come_up_late`.
//! - What is taken out or disabled takes along what is its own, by owner and not by name:
//!   `a_server_that_is_taken_out_takes_all_it_offered_with_it_and_nothing_of_others`,
//!   `a_server_that_is_disabled_is_ended_and_comes_back_when_it_is_enabled`,
//!   `a_server_that_is_taken_out_while_it_connects_leaves_nothing`; `a_tool_that_is_no_longer_there_says_so`.
//! - The end of a session ends all: `the_end_ends_every_server_whatever_it_is_doing`,
//!   `calls_under_way_end_with_the_session`, `a_session_that_is_dropped_leaves_no_process`; `life`: `the_end_is_final`;
//!   `live`: `a_reload_tells_what_it_did_and_after_the_end_it_does_nothing`.
//! - Parts of a session share its connections: `life`:
//!   `a_part_of_a_session_shares_its_connections_and_sees_no_more_than_it_may`;
//!   `a_part_that_goes_leaves_the_connections_to_the_rest`.

mod connect;
mod end;
mod live;
mod strict;
mod tools;
