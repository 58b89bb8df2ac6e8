-- Sent again with a higher version whenever an hour changes, in any order and any number of times.
CREATE FUNCTION push_usage(p_gateway int, p_token text, p_rows jsonb) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE g gateways := caller(p_gateway, p_token); n int;
BEGIN
  INSERT INTO usage_hours AS u
  SELECT g.id, e.bucket, e.project, e.provider, e.model, e.key_label, g.member, e.version, e.requests, e.blocked_requests,
    e.failed_requests, e.unpriced_requests, e.input_tokens, e.cached_input_tokens, e.cache_write_tokens, e.output_tokens,
    e.reasoning_tokens, e.saved_tokens, e.cost, e.saved
  FROM (SELECT DISTINCT ON (bucket, project, provider, model, key_label) *
    FROM jsonb_populate_recordset(NULL::usage_hours, p_rows)
    ORDER BY bucket, project, provider, model, key_label, version DESC) e
  ON CONFLICT (bucket, gateway_id, project, provider, model, key_label) DO UPDATE SET version = excluded.version,
    requests = excluded.requests, blocked_requests = excluded.blocked_requests, failed_requests = excluded.failed_requests,
    unpriced_requests = excluded.unpriced_requests, input_tokens = excluded.input_tokens,
    cached_input_tokens = excluded.cached_input_tokens, cache_write_tokens = excluded.cache_write_tokens,
    output_tokens = excluded.output_tokens, reasoning_tokens = excluded.reasoning_tokens,
    saved_tokens = excluded.saved_tokens, cost = excluded.cost, saved = excluded.saved
  WHERE excluded.version > u.version;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;

CREATE TYPE usage_sum AS (day text, project text, provider text, model text, member text, gateway text, key_label text,
  requests bigint, blocked_requests bigint, failed_requests bigint, unpriced_requests bigint, input_tokens bigint,
  cached_input_tokens bigint, cache_write_tokens bigint, output_tokens bigint, reasoning_tokens bigint,
  saved_tokens bigint, cost bigint, saved bigint);
-- Sums by day, project, provider and model, and by who spent where the reader may see that.
CREATE FUNCTION usage_sums(p_from bigint, p_to bigint, p_member name, p_shows_who boolean)
RETURNS SETOF usage_sum LANGUAGE sql STABLE AS $$
  SELECT to_char(to_timestamp(u.bucket / 1000.0) AT TIME ZONE t.timezone, 'YYYY-MM-DD'), u.project, u.provider, u.model,
    CASE WHEN p_shows_who THEN u.member::text END, CASE WHEN p_shows_who THEN g.name END,
    CASE WHEN p_shows_who THEN u.key_label END,
    sum(u.requests)::bigint, sum(u.blocked_requests)::bigint, sum(u.failed_requests)::bigint,
    sum(u.unpriced_requests)::bigint, sum(u.input_tokens)::bigint, sum(u.cached_input_tokens)::bigint,
    sum(u.cache_write_tokens)::bigint, sum(u.output_tokens)::bigint, sum(u.reasoning_tokens)::bigint,
    sum(u.saved_tokens)::bigint, sum(u.cost)::bigint, sum(u.saved)::bigint
  FROM gw_team.usage_hours u JOIN gw_team.gateways g ON g.id = u.gateway_id CROSS JOIN gw_team.team t
  WHERE u.bucket >= p_from AND u.bucket < p_to AND (p_member IS NULL OR u.member = p_member)
  GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7 $$;
CREATE FUNCTION team_usage(p_from bigint, p_to bigint) RETURNS SETOF usage_sum
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT * FROM usage_sums(p_from, p_to, NULL, false) $$;
CREATE FUNCTION my_usage(p_from bigint, p_to bigint) RETURNS SETOF usage_sum
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT * FROM usage_sums(p_from, p_to, session_user, true) $$;
CREATE FUNCTION all_usage(p_from bigint, p_to bigint) RETURNS SETOF usage_sum
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT * FROM usage_sums(p_from, p_to, NULL, true) $$;

CREATE FUNCTION team_budgets() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT jsonb_build_object('name', t.name, 'timezone', t.timezone, 'version', t.config_version, 'budgets', coalesce((
    SELECT jsonb_agg(jsonb_build_object('id', b.id, 'project', b.project, 'period', b.period, 'capNanoUsd', b.cap,
      'capVersion', b.cap_version, 'alertPercents', b.alert_percents, 'offlineNanoUsd', b.offline, 'start', s.start,
      'ends', s.ends, 'allocatedNanoUsd', coalesce(p.allocated, 0), 'spentNanoUsd', coalesce(p.spent, 0),
      'holders', (SELECT count(*) FROM allowances a WHERE a.budget_id = b.id AND a.start = s.start
        AND a.limit_ + a.reserve > a.spent + a.assumed),
      'isStarved', coalesce(p.starved_at > now_ms() - 30000, false)) ORDER BY b.project, b.period)
    FROM budgets b CROSS JOIN LATERAL span_of(b.period, now_ms()) s
    LEFT JOIN periods p ON p.budget_id = b.id AND p.start = s.start WHERE b.removed_at IS NULL), '[]'))
  FROM team t $$;

CREATE FUNCTION key_view(k keys) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('id', k.id, 'hash', k.hash, 'hint', k.hint, 'label', k.label, 'project', k.project,
    'createdAt', k.created_at, 'expiresAt', k.expires_at, 'revokedAt', k.revoked_at, 'models', k.models, 'rpm', k.rpm) $$;
-- Keys that changed after a version: gateways cache them. The hash of a key can't be used in its place.
CREATE FUNCTION team_keys(p_since bigint) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT jsonb_build_object('version', t.keys_version, 'keys', coalesce(
    (SELECT jsonb_agg(key_view(k) ORDER BY k.id) FROM keys k WHERE k.version > p_since), '[]')) FROM team t $$;

-- The next delivery that no courier has in hand. Sees the webhook's secret.
CREATE FUNCTION claim_event(p_gateway int, p_token text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE g gateways := caller(p_gateway, p_token); at bigint := now_ms(); c deliveries;
BEGIN
  PERFORM commit_durably();
  UPDATE deliveries d SET claimed_by = g.id, claim_ends = at + 60000, claims = d.claims + 1 WHERE d.id = (
    SELECT o.id FROM deliveries o JOIN webhooks w ON w.id = o.webhook_id
    WHERE o.delivered_at IS NULL AND o.failed_at IS NULL AND o.due_at <= at AND o.claim_ends <= at
      AND w.removed_at IS NULL ORDER BY o.id LIMIT 1 FOR UPDATE OF o SKIP LOCKED)
  RETURNING * INTO c;
  IF c.id IS NULL THEN RETURN NULL; END IF;
  RETURN (SELECT jsonb_build_object('delivery', c.id, 'claim', c.claims, 'claimEnds', c.claim_ends,
    'event', jsonb_build_object('id', e.public_id, 'type', e.type, 'createdAt', e.created_at, 'project', e.project,
      'data', e.data::text), 'url', w.url, 'secret', w.secret, 'format', w.format)
    FROM events e, webhooks w WHERE e.id = c.event_id AND w.id = c.webhook_id);
END $$;
CREATE FUNCTION finish(p_gateway int, p_token text, p_delivery bigint, p_claim int, p_reason text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE g gw_team.gateways := gw_team.caller(p_gateway, p_token); at bigint := gw_team.now_ms();
BEGIN
  PERFORM gw_team.commit_durably();
  UPDATE gw_team.deliveries SET delivered_at = CASE WHEN p_reason IS NULL THEN at END,
    failed_at = CASE WHEN p_reason IS NOT NULL THEN at END, reason = left(p_reason, 500)
  WHERE id = p_delivery AND claimed_by = g.id AND claims = p_claim AND delivered_at IS NULL AND failed_at IS NULL;
  RETURN FOUND;
END $$;
CREATE FUNCTION delivered(p_gateway int, p_token text, p_delivery bigint, p_claim int) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT finish(p_gateway, p_token, p_delivery, p_claim, NULL) $$;
CREATE FUNCTION failed(p_gateway int, p_token text, p_delivery bigint, p_claim int, p_reason text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT finish(p_gateway, p_token, p_delivery, p_claim, coalesce(p_reason, 'no reason given')) $$;
