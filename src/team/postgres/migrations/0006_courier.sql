-- One gateway at a time delivers the team's events. Its lease ends by itself if it dies.
CREATE TABLE courier (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  gateway_id int NOT NULL,
  lease_ends bigint NOT NULL
);
ALTER TABLE deliveries ADD COLUMN attempts int NOT NULL DEFAULT 0;

DROP FUNCTION claim_event(int, text);
DROP FUNCTION delivered(int, text, bigint, int);
DROP FUNCTION failed(int, text, bigint, int, text);
DROP FUNCTION finish(int, text, bigint, int, text);

-- Takes or renews the lease, and claims the oldest open delivery of each webhook that is due: the right to one attempt,
-- with the webhook's secret. A lease of 0 ms gives it back. All times in the answer are in ms from now.
CREATE FUNCTION claim_events(p_gateway int, p_token text, p_lease_ms int, p_claim_ms int) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE g gateways := caller(p_gateway, p_token); at bigint := now_ms(); c courier; claimed jsonb;
BEGIN
  PERFORM commit_durably();
  IF p_lease_ms <= 0 OR g.state <> 'active' THEN
    UPDATE courier SET lease_ends = at WHERE gateway_id = g.id AND lease_ends > at;
    RETURN jsonb_build_object('isCourier', false, 'leaseMs', 0, 'dueMs', NULL, 'deliveries', '[]'::jsonb);
  END IF;
  -- Renewed in its second half only: an idle courier writes little.
  INSERT INTO courier AS held (gateway_id, lease_ends) VALUES (g.id, at + least(p_lease_ms, 60000))
  ON CONFLICT (one) DO UPDATE SET gateway_id = excluded.gateway_id, lease_ends = excluded.lease_ends
    WHERE held.lease_ends <= at OR (held.gateway_id = g.id AND held.lease_ends < at + least(p_lease_ms, 60000) / 2);
  SELECT * INTO c FROM courier;
  IF c.gateway_id <> g.id THEN
    RETURN jsonb_build_object('isCourier', false, 'leaseMs', greatest(0, c.lease_ends - at), 'dueMs', NULL,
      'deliveries', '[]'::jsonb);
  END IF;
  WITH taken AS (
    UPDATE deliveries d SET claimed_by = g.id, claim_ends = at + least(p_claim_ms, 60000), claims = d.claims + 1
    WHERE d.id IN (SELECT o.id FROM deliveries o JOIN webhooks w ON w.id = o.webhook_id
      WHERE o.delivered_at IS NULL AND o.failed_at IS NULL AND o.due_at <= at AND o.claim_ends <= at
        AND w.removed_at IS NULL
        -- Events of a webhook go in order. One of the next period, which is not due yet, holds back none.
        AND NOT EXISTS (SELECT FROM deliveries e WHERE e.webhook_id = o.webhook_id AND e.id < o.id
          AND e.delivered_at IS NULL AND e.failed_at IS NULL AND (e.due_at <= at OR e.attempts > 0))
      FOR UPDATE OF o SKIP LOCKED)
    RETURNING d.*)
  SELECT jsonb_agg(jsonb_build_object('delivery', d.id, 'claim', d.claims, 'attempts', d.attempts,
    'event', jsonb_build_object('id', e.public_id, 'type', e.type, 'createdAt', e.created_at, 'project', e.project,
      'data', e.data::text), 'webhook', w.id, 'url', w.url, 'secret', w.secret, 'format', w.format) ORDER BY d.id)
    INTO claimed FROM taken d JOIN events e ON e.id = d.event_id JOIN webhooks w ON w.id = d.webhook_id;
  RETURN jsonb_build_object('isCourier', true, 'leaseMs', c.lease_ends - at, 'deliveries', coalesce(claimed, '[]'),
    'dueMs', (SELECT min(greatest(o.due_at, o.claim_ends, at)) - at FROM deliveries o
      JOIN webhooks w ON w.id = o.webhook_id
      WHERE o.delivered_at IS NULL AND o.failed_at IS NULL AND w.removed_at IS NULL));
END $$;

-- How an attempt ended. Under a claim that a later one has replaced, nothing changes.
-- 'retry' counts the attempt; 'release' says that none was made.
CREATE FUNCTION finish_delivery(p_gateway int, p_token text, p_delivery bigint, p_claim int, p_outcome text,
  p_reason text DEFAULT NULL, p_after_ms int DEFAULT 0) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE g gateways := caller(p_gateway, p_token); at bigint := now_ms();
BEGIN
  PERFORM commit_durably();
  UPDATE deliveries SET claim_ends = at,
    claimed_by = CASE WHEN p_outcome IN ('retry', 'release') THEN NULL ELSE claimed_by END,
    attempts = attempts + CASE p_outcome WHEN 'release' THEN 0 ELSE 1 END,
    due_at = CASE p_outcome WHEN 'retry' THEN at + p_after_ms ELSE due_at END,
    delivered_at = CASE p_outcome WHEN 'delivered' THEN at END,
    failed_at = CASE p_outcome WHEN 'failed' THEN at END,
    reason = CASE p_outcome WHEN 'release' THEN reason ELSE left(p_reason, 500) END
  WHERE id = p_delivery AND claimed_by = g.id AND claims = p_claim
    AND delivered_at IS NULL AND failed_at IS NULL
    AND p_outcome IN ('delivered', 'retry', 'failed', 'release');
  RETURN FOUND;
END $$;

-- Once for each budget, period, type, cap version and percent, with a delivery for each webhook. A budget has the name
-- that gateways show. A reset tells of the period before.
CREATE OR REPLACE FUNCTION emit(b budgets, p periods, p_type text, p_percent int DEFAULT 0) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  event bigint; at bigint := gw_team.now_ms(); spent bigint := p.spent;
BEGIN
  IF EXISTS (SELECT FROM gw_team.events WHERE budget_id = b.id AND start = p.start AND type = p_type
    AND cap_version = b.cap_version AND percent >= p_percent) THEN RETURN; END IF;
  IF p_type = 'budget.reset' THEN
    SELECT o.spent INTO spent FROM gw_team.periods o WHERE o.budget_id = b.id AND o.start < p.start
      ORDER BY o.start DESC LIMIT 1;
  END IF;
  INSERT INTO gw_team.events (budget_id, start, type, cap_version, percent, project, created_at, data)
  VALUES (b.id, p.start, p_type, b.cap_version, p_percent, b.project, greatest(at, p.start), jsonb_build_object(
    'budget_id', b.project || '@team/' || b.period,
    'team', true, 'period', b.period, 'cap_usd', gw_team.usd(b.cap), 'spent_usd', gw_team.usd(spent),
    'resets_at', gw_team.iso(p.ends))
    || CASE p_percent WHEN 0 THEN '{}' ELSE jsonb_build_object('alert_percent', p_percent) END
    || CASE p_type WHEN 'budget.reset' THEN jsonb_build_object('period_start', gw_team.iso(p.start)) ELSE '{}' END)
  ON CONFLICT DO NOTHING RETURNING id INTO event;
  INSERT INTO gw_team.deliveries (event_id, webhook_id, due_at)
    SELECT event, id, greatest(at, p.start) FROM gw_team.webhooks
    WHERE event IS NOT NULL AND removed_at IS NULL AND p_type = ANY (events);
END $$;

-- NULL for alerts keeps them as they are; p_sets_offline says whether p_offline counts. A cap that stays as it was is no
-- new version: its events are not sent again. Nor is an alert that the new cap leaves crossed.
CREATE OR REPLACE FUNCTION set_budget(p_project text, p_period text, p_cap bigint, p_alerts int[] DEFAULT NULL,
  p_sets_offline boolean DEFAULT false, p_offline bigint DEFAULT NULL) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE
  b budgets; old_version int; alerts int[] := (SELECT array_agg(DISTINCT e ORDER BY e) FROM unnest(p_alerts) e);
BEGIN
  PERFORM commit_durably();
  IF EXISTS (SELECT FROM unnest(alerts) e WHERE e NOT BETWEEN 1 AND 100) THEN
    RAISE EXCEPTION 'alert percentages must be from 1 to 100' USING ERRCODE = '22023';
  END IF;
  UPDATE team SET config_version = config_version + 1;
  SELECT cap_version INTO old_version FROM budgets
    WHERE project = p_project AND period = p_period AND removed_at IS NULL;
  INSERT INTO budgets AS old (project, period, cap, alert_percents, offline)
  VALUES (p_project, p_period, p_cap, coalesce(alerts, '{80}'), CASE WHEN p_sets_offline THEN p_offline END)
  ON CONFLICT (project, period) WHERE removed_at IS NULL DO UPDATE SET cap = excluded.cap,
    cap_version = old.cap_version + (old.cap <> excluded.cap)::int,
    alert_percents = coalesce(alerts, old.alert_percents),
    offline = CASE WHEN p_sets_offline THEN p_offline ELSE old.offline END
  RETURNING * INTO b;
  -- Waits for syncs that hold the rows: they grant by the old cap, later ones by the new.
  PERFORM FROM periods WHERE budget_id = b.id ORDER BY start FOR UPDATE;
  UPDATE periods SET starved_at = now_ms() WHERE budget_id = b.id AND allocated > p_cap AND ends > now_ms();
  IF b.cap_version > old_version THEN
    INSERT INTO events (budget_id, start, type, cap_version, percent, project, created_at, data)
    SELECT e.budget_id, e.start, e.type, b.cap_version, e.percent, e.project, e.created_at, e.data
    FROM events e JOIN periods p ON p.budget_id = e.budget_id AND p.start = e.start
    WHERE e.budget_id = b.id AND e.type = 'budget.threshold_reached' AND e.cap_version = old_version
      AND p.ends > now_ms() AND p.spent >= b.cap / 100.0 * e.percent;
  END IF;
  PERFORM note_admin('set_budget', jsonb_build_object('id', b.id, 'project', p_project, 'period', p_period,
    'cap', p_cap));
  RETURN b.id;
END $$;

-- Keys that changed after a version, and the version of the budgets: what a gateway asks for that has nothing to sync.
CREATE OR REPLACE FUNCTION team_keys(p_since bigint) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT jsonb_build_object('version', t.keys_version, 'config', t.config_version, 'keys', coalesce(
    (SELECT jsonb_agg(key_view(k) ORDER BY k.id) FROM keys k WHERE k.version > p_since), '[]')) FROM team t $$;

CREATE OR REPLACE FUNCTION team_status() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT jsonb_build_object('name', name, 'timezone', timezone, 'frozenSince', frozen_since,
    'detectsFailover', incarnation NOT LIKE 'manual%', 'courier', (SELECT g.name FROM courier c
      JOIN gateways g ON g.id = c.gateway_id WHERE c.lease_ends > now_ms())) FROM team $$;

CREATE OR REPLACE FUNCTION list_webhooks() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_object('id', w.id, 'url', w.url, 'format', w.format, 'events', w.events,
    'createdAt', w.created_at, 'deliveredAt', d.delivered, 'failedDeliveries', coalesce(d.failed, 0),
    'pendingDeliveries', coalesce(d.pending, 0), 'lastError', (SELECT reason FROM deliveries l
      WHERE l.webhook_id = w.id AND l.attempts > 0 ORDER BY l.id DESC LIMIT 1)) ORDER BY w.id), '[]')
  FROM webhooks w LEFT JOIN (SELECT webhook_id, max(delivered_at) AS delivered, count(failed_at) AS failed,
    count(*) FILTER (WHERE delivered_at IS NULL AND failed_at IS NULL) AS pending FROM deliveries GROUP BY 1) d
    ON d.webhook_id = w.id WHERE w.removed_at IS NULL $$;
