-- Usage goes by whole buckets: a message has all rows of the buckets that it names, as they are at the gateway. Its number
-- tells a late message from the latest, so rows need no version of their own.
ALTER TABLE gateways ADD COLUMN usage_seq bigint NOT NULL DEFAULT 0;
DROP FUNCTION push_usage(int, text, jsonb);
DROP FUNCTION team_usage(bigint, bigint);
DROP FUNCTION my_usage(bigint, bigint);
DROP FUNCTION all_usage(bigint, bigint);
DROP FUNCTION usage_sums(bigint, bigint, name, boolean);
DROP TYPE usage_sum;
ALTER TABLE usage_hours DROP COLUMN version;
ALTER TABLE usage_hours ADD CHECK (length(project) <= 200 AND length(provider) <= 200 AND length(model) <= 200
  AND length(key_label) <= 200),
  ADD CHECK (least(requests, blocked_requests, failed_requests, unpriced_requests, input_tokens, cached_input_tokens,
  cache_write_tokens, output_tokens, reasoning_tokens, saved_tokens, cost, saved) >= 0);

CREATE FUNCTION push_usage(p_gateway int, p_token text, p_nonce text, p_seq bigint, p_buckets bigint[], p_rows jsonb)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE g gateways := caller(p_gateway, p_token);
BEGIN
  -- The gateway sends no hour again that was confirmed.
  PERFORM commit_durably();
  IF g.state <> 'active' THEN RETURN g.state; END IF;
  IF g.nonce IS DISTINCT FROM p_nonce THEN RETURN 'fenced'; END IF;
  IF p_seq IS NULL OR p_seq <= g.usage_seq THEN RETURN 'stale'; END IF;
  UPDATE gateways SET usage_seq = p_seq WHERE id = g.id;
  -- A project or a key may have got another name.
  DELETE FROM usage_hours u WHERE gateway_id = g.id AND bucket = ANY (p_buckets) AND NOT EXISTS (
    SELECT FROM jsonb_to_recordset(p_rows) AS e(bucket bigint, project text, provider text, model text, key_label text)
    WHERE (e.bucket, e.project, e.provider, e.model, e.key_label) = (u.bucket, u.project, u.provider, u.model, u.key_label));
  INSERT INTO usage_hours AS u
  SELECT g.id, e.bucket, e.project, e.provider, e.model, e.key_label, g.member, e.requests, e.blocked_requests,
    e.failed_requests, e.unpriced_requests, e.input_tokens, e.cached_input_tokens, e.cache_write_tokens, e.output_tokens,
    e.reasoning_tokens, e.saved_tokens, e.cost, e.saved
  FROM jsonb_populate_recordset(NULL::usage_hours, p_rows) e WHERE e.bucket = ANY (p_buckets)
  ON CONFLICT (bucket, gateway_id, project, provider, model, key_label) DO UPDATE SET
    requests = excluded.requests, blocked_requests = excluded.blocked_requests, failed_requests = excluded.failed_requests,
    unpriced_requests = excluded.unpriced_requests, input_tokens = excluded.input_tokens,
    cached_input_tokens = excluded.cached_input_tokens, cache_write_tokens = excluded.cache_write_tokens,
    output_tokens = excluded.output_tokens, reasoning_tokens = excluded.reasoning_tokens,
    saved_tokens = excluded.saved_tokens, cost = excluded.cost, saved = excluded.saved;
  RETURN 'ok';
END $$;

CREATE TYPE usage_sum AS (key text, member text, requests bigint, blocked_requests bigint, failed_requests bigint,
  unpriced_requests bigint, input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint,
  output_tokens bigint, reasoning_tokens bigint, saved_tokens bigint, cost bigint, saved bigint);
-- Sums over days of the team's time zone, both inclusive. Keys are named by their gateways, so those of two members differ.
CREATE FUNCTION usage_sums(p_by text, p_from date, p_to date, p_member name) RETURNS SETOF usage_sum
LANGUAGE sql STABLE AS $$
  SELECT CASE p_by WHEN 'project' THEN u.project WHEN 'model' THEN
      CASE WHEN u.provider = '' OR starts_with(u.model, u.provider || '/') THEN u.model ELSE u.provider || '/' || u.model END
      WHEN 'member' THEN u.member::text WHEN 'gateway' THEN g.name WHEN 'key' THEN u.key_label
      ELSE to_char(to_timestamp(u.bucket / 1000.0) AT TIME ZONE t.timezone, 'YYYY-MM-DD') END,
    CASE WHEN p_by IN ('gateway', 'key') THEN u.member::text END,
    sum(u.requests)::bigint, sum(u.blocked_requests)::bigint, sum(u.failed_requests)::bigint,
    sum(u.unpriced_requests)::bigint, sum(u.input_tokens)::bigint, sum(u.cached_input_tokens)::bigint,
    sum(u.cache_write_tokens)::bigint, sum(u.output_tokens)::bigint, sum(u.reasoning_tokens)::bigint,
    sum(u.saved_tokens)::bigint, sum(u.cost)::bigint, sum(u.saved)::bigint
  FROM gw_team.usage_hours u JOIN gw_team.gateways g ON g.id = u.gateway_id CROSS JOIN gw_team.team t
  WHERE u.bucket >= extract(epoch FROM p_from::timestamp AT TIME ZONE t.timezone) * 1000
    AND u.bucket < extract(epoch FROM (p_to + 1)::timestamp AT TIME ZONE t.timezone) * 1000
    AND (p_member IS NULL OR u.member = p_member)
  GROUP BY 1, 2 $$;
-- Members see who spent of their own gateways alone.
CREATE FUNCTION team_usage(p_by text, p_from date, p_to date) RETURNS SETOF usage_sum
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT * FROM usage_sums(CASE WHEN p_by IN ('project', 'model') THEN p_by ELSE 'day' END, p_from, p_to, NULL) $$;
CREATE FUNCTION my_usage(p_by text, p_from date, p_to date) RETURNS SETOF usage_sum
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT * FROM usage_sums(p_by, p_from, p_to, session_user) $$;
CREATE FUNCTION all_usage(p_by text, p_from date, p_to date) RETURNS SETOF usage_sum
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT * FROM usage_sums(p_by, p_from, p_to, NULL) $$;
