CREATE FUNCTION note_admin(p_what text, p_data jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO gw_team.audit VALUES (gw_team.now_ms(), session_user, p_what, p_data) $$;

CREATE FUNCTION team_status() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT jsonb_build_object('name', name, 'timezone', timezone, 'frozenSince', frozen_since,
    'detectsFailover', incarnation NOT LIKE 'manual%') FROM team $$;

-- NULL for alerts keeps them as they are; p_sets_offline says whether p_offline counts.
CREATE FUNCTION set_budget(p_project text, p_period text, p_cap bigint, p_alerts int[] DEFAULT NULL,
  p_sets_offline boolean DEFAULT false, p_offline bigint DEFAULT NULL) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE i int; alerts int[] := (SELECT array_agg(DISTINCT e ORDER BY e) FROM unnest(p_alerts) e);
BEGIN
  PERFORM commit_durably();
  IF EXISTS (SELECT FROM unnest(alerts) e WHERE e NOT BETWEEN 1 AND 100) THEN
    RAISE EXCEPTION 'alert percentages must be from 1 to 100' USING ERRCODE = '22023';
  END IF;
  UPDATE team SET config_version = config_version + 1;
  INSERT INTO budgets AS b (project, period, cap, alert_percents, offline)
  VALUES (p_project, p_period, p_cap, coalesce(alerts, '{80}'), CASE WHEN p_sets_offline THEN p_offline END)
  ON CONFLICT (project, period) WHERE removed_at IS NULL DO UPDATE SET cap = excluded.cap,
    cap_version = b.cap_version + 1, alert_percents = coalesce(alerts, b.alert_percents),
    offline = CASE WHEN p_sets_offline THEN p_offline ELSE b.offline END
  RETURNING id INTO i;
  -- Waits for syncs that hold the rows: they grant by the old cap, later ones by the new.
  PERFORM FROM periods WHERE budget_id = i ORDER BY start FOR UPDATE;
  UPDATE periods SET starved_at = now_ms() WHERE budget_id = i AND allocated > p_cap AND ends > now_ms();
  PERFORM note_admin('set_budget', jsonb_build_object('id', i, 'project', p_project, 'period', p_period, 'cap', p_cap));
  RETURN i;
END $$;

CREATE FUNCTION remove_budget(p_project text, p_period text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE i int;
BEGIN
  UPDATE team SET config_version = config_version + 1;
  UPDATE budgets SET removed_at = now_ms() WHERE project = p_project AND period = p_period AND removed_at IS NULL
  RETURNING id INTO i;
  IF i IS NULL THEN RETURN false; END IF;
  PERFORM FROM periods WHERE budget_id = i ORDER BY start FOR UPDATE;
  PERFORM note_admin('remove_budget', jsonb_build_object('id', i, 'project', p_project, 'period', p_period));
  RETURN true;
END $$;

CREATE FUNCTION members() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_object('id', g.id, 'name', g.name, 'member', g.member, 'state', g.state,
    'joinedAt', g.joined_at, 'syncedAt', g.synced_at, 'outNanoUsd', coalesce(a.out_, 0),
    'assumedNanoUsd', coalesce(a.assumed, 0),
    'hasReported', t.frozen_since IS NULL OR g.synced_at >= t.frozen_since) ORDER BY g.id), '[]')
  FROM gateways g CROSS JOIN team t LEFT JOIN (
    SELECT gateway_id, sum(limit_ + reserve - spent - assumed) AS out_, sum(assumed) AS assumed
    FROM allowances GROUP BY 1) a ON a.gateway_id = g.id $$;

-- What the gateway held counts as spent until it comes back. With p_release, others are granted it: this can pass a cap.
CREATE FUNCTION forget(p_gateway int, p_release boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE k record; a allowances; g gateways; total bigint := 0;
BEGIN
  PERFORM commit_durably();
  SELECT * INTO g FROM gateways WHERE id = p_gateway FOR UPDATE;
  IF g.id IS NULL THEN RAISE EXCEPTION 'there is no gateway %', p_gateway USING ERRCODE = 'GW003'; END IF;
  UPDATE gateways SET state = 'forgotten' WHERE id = g.id;
  IF p_release THEN
    total := release(g.id);
  ELSE
    FOR k IN SELECT budget_id, start FROM allowances WHERE gateway_id = g.id ORDER BY 1, 2 LOOP
      PERFORM FROM periods WHERE budget_id = k.budget_id AND start = k.start FOR UPDATE;
      SELECT * INTO a FROM allowances WHERE budget_id = k.budget_id AND start = k.start AND gateway_id = g.id;
      UPDATE periods SET spent = spent + (a.limit_ + a.reserve - a.spent - a.assumed)
        WHERE budget_id = k.budget_id AND start = k.start;
      UPDATE allowances SET assumed = limit_ + reserve - spent
        WHERE budget_id = k.budget_id AND start = k.start AND gateway_id = g.id;
      total := total + a.limit_ + a.reserve - a.spent;
    END LOOP;
  END IF;
  PERFORM note_admin(CASE WHEN p_release THEN 'forget --release' ELSE 'forget' END,
    jsonb_build_object('gateway', g.id, 'name', g.name, 'amount', total));
  RETURN total;
END $$;

-- Ends the freeze after a failover, or begins one where the server does not tell of failovers.
CREATE FUNCTION recover(p_freeze boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
BEGIN
  PERFORM commit_durably();
  IF p_freeze THEN   -- another incarnation: gateways declare all that they hold
    UPDATE team SET frozen_since = coalesce(frozen_since, now_ms()),
      incarnation = split_part(incarnation, ':', 1) || ':' || now_ms();
  ELSE
    UPDATE team SET frozen_since = NULL;
  END IF;
  PERFORM note_admin(CASE WHEN p_freeze THEN 'freeze' ELSE 'recover' END, '{}');
END $$;

CREATE FUNCTION create_key(p_hash text, p_hint text, p_label text, p_project text, p_expires bigint, p_models text[], p_rpm int)
RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE v bigint; i int;
BEGIN
  UPDATE team SET keys_version = keys_version + 1 RETURNING keys_version INTO v;
  INSERT INTO keys (hash, hint, label, project, created_at, expires_at, models, rpm, version)
  VALUES (p_hash, p_hint, p_label, p_project, now_ms(), p_expires, p_models, p_rpm, v) RETURNING id INTO i;
  PERFORM note_admin('create_key', jsonb_build_object('id', i, 'label', p_label, 'project', p_project));
  RETURN i;
END $$;
CREATE FUNCTION revoke_key(p_key int) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE v bigint;
BEGIN
  PERFORM commit_durably();
  UPDATE team SET keys_version = keys_version + 1 RETURNING keys_version INTO v;
  UPDATE keys SET revoked_at = now_ms(), version = v WHERE id = p_key AND revoked_at IS NULL;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM note_admin('revoke_key', jsonb_build_object('id', p_key));
  RETURN true;
END $$;

CREATE FUNCTION add_webhook(p_url text, p_secret text, p_format text, p_events text[]) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE i int;
BEGIN
  INSERT INTO webhooks (url, secret, format, events, created_at)
  VALUES (p_url, p_secret, p_format, p_events, now_ms()) RETURNING id INTO i;
  PERFORM note_admin('add_webhook', jsonb_build_object('id', i));
  RETURN i;
END $$;
CREATE FUNCTION list_webhooks() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_object('id', w.id, 'url', w.url, 'format', w.format, 'events', w.events,
    'createdAt', w.created_at, 'deliveredAt', d.delivered, 'failedDeliveries', coalesce(d.failed, 0),
    'pendingDeliveries', coalesce(d.pending, 0)) ORDER BY w.id), '[]')
  FROM webhooks w LEFT JOIN (SELECT webhook_id, max(delivered_at) AS delivered, count(failed_at) AS failed,
    count(*) FILTER (WHERE delivered_at IS NULL AND failed_at IS NULL) AS pending FROM deliveries GROUP BY 1) d
    ON d.webhook_id = w.id WHERE w.removed_at IS NULL $$;
CREATE FUNCTION remove_webhook(p_webhook int) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
BEGIN
  UPDATE webhooks SET removed_at = now_ms() WHERE id = p_webhook AND removed_at IS NULL;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM note_admin('remove_webhook', jsonb_build_object('id', p_webhook));
  RETURN true;
END $$;
