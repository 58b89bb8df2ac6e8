-- Runs after the migrations, each time: a new function is PUBLIC's until this.
REVOKE ALL ON ALL TABLES IN SCHEMA gw_team FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA gw_team FROM PUBLIC;
GRANT USAGE ON SCHEMA gw_team TO gw_team_member, gw_team_courier, gw_team_admin;
GRANT EXECUTE ON FUNCTION schema_version, join_team, hello, leave, sync, push_usage, team_budgets, team_usage, my_usage,
  team_keys, team_status TO gw_team_member;
GRANT EXECUTE ON FUNCTION claim_events, finish_delivery TO gw_team_courier;
GRANT EXECUTE ON FUNCTION set_budget, remove_budget, members, forget, recover, all_usage, create_key, revoke_key,
  add_webhook, list_webhooks, remove_webhook TO gw_team_admin;
