-- Usage by hour of day, in the team's time zone.
CREATE OR REPLACE FUNCTION usage_sums(p_by text, p_from date, p_to date, p_member name) RETURNS SETOF usage_sum
LANGUAGE sql STABLE AS $$
  SELECT CASE p_by WHEN 'project' THEN u.project WHEN 'model' THEN
      CASE WHEN u.provider = '' OR starts_with(u.model, u.provider || '/') THEN u.model ELSE u.provider || '/' || u.model END
      WHEN 'member' THEN u.member::text WHEN 'gateway' THEN g.name WHEN 'key' THEN u.key_label
      ELSE to_char(to_timestamp(u.bucket / 1000.0) AT TIME ZONE t.timezone,
        CASE p_by WHEN 'hour' THEN 'HH24:00' ELSE 'YYYY-MM-DD' END) END,
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
CREATE OR REPLACE FUNCTION team_usage(p_by text, p_from date, p_to date) RETURNS SETOF usage_sum
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT * FROM usage_sums(CASE WHEN p_by IN ('project', 'model', 'hour') THEN p_by ELSE 'day' END, p_from, p_to, NULL) $$;
