-- Roles belong to the whole cluster, so their names begin with the schema's.
DO $$
DECLARE r text; is_new boolean;
BEGIN
  FOREACH r IN ARRAY ARRAY['gw_team_owner', 'gw_team_member', 'gw_team_admin', 'gw_team_courier'] LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = r);
    EXECUTE format('CREATE ROLE %I NOLOGIN', r);
    is_new := true;
  END LOOP;
  IF is_new THEN
    GRANT gw_team_member TO gw_team_admin;
    GRANT gw_team_member TO gw_team_courier;
    GRANT gw_team_owner TO CURRENT_USER;
    GRANT gw_team_admin TO CURRENT_USER;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'gw_team') THEN
    CREATE SCHEMA gw_team AUTHORIZATION gw_team_owner;
  END IF;
END $$;
