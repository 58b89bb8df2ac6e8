CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE FUNCTION incarnation_now() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT (pg_control_system()).system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) $$;

-- A grant that a crash loses is money that exists twice. A function's SET clause would end before the commit.
CREATE FUNCTION commit_durably() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_commit') IN ('off', 'local') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END $$;

CREATE FUNCTION span_of(p_period text, p_at bigint, OUT start bigint, OUT ends bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
  zone text := (SELECT timezone FROM gw_team.team);
  unit text := CASE p_period WHEN 'daily' THEN 'day' ELSE 'month' END;
  local timestamp := date_trunc(unit, to_timestamp(p_at / 1000.0) AT TIME ZONE zone);
BEGIN
  start := extract(epoch FROM local AT TIME ZONE zone) * 1000;
  ends := extract(epoch FROM (local + ('1 ' || unit)::interval) AT TIME ZONE zone) * 1000;
END $$;

-- The token is the gateway's own, the role that of the member who joined it.
CREATE FUNCTION caller(p_gateway int, p_token text) RETURNS gateways LANGUAGE plpgsql AS $$
DECLARE g gw_team.gateways;
BEGIN
  SELECT * INTO g FROM gw_team.gateways WHERE id = p_gateway FOR UPDATE;
  IF g.id IS NULL OR g.member <> session_user OR g.token_hash IS DISTINCT FROM sha256(convert_to(p_token, 'UTF8')) THEN
    RAISE EXCEPTION 'gateway % is not known by that token and role', p_gateway USING ERRCODE = 'GW001';
  END IF;
  RETURN g;
END $$;

CREATE FUNCTION join_team(p_name text, p_token text, p_nonce text) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE hash bytea := sha256(convert_to(p_token, 'UTF8')); known gateways; at bigint := now_ms(); new_id int;
BEGIN
  PERFORM commit_durably();
  SELECT * INTO known FROM gateways WHERE token_hash = hash;
  IF known.id IS NULL THEN
    INSERT INTO gateways (name, member, token_hash, nonce, joined_at, synced_at)
    VALUES (p_name, session_user, hash, p_nonce, at, at) RETURNING id INTO new_id;
    RETURN new_id;
  END IF;
  RETURN (caller(known.id, p_token)).id;
END $$;

-- Data of rows that nobody reads any more. Periods go with all their allowances, so that the sums stay right.
CREATE FUNCTION tidy(p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE before bigint := p_at - 400 * 86400000::bigint;
BEGIN
  UPDATE gw_team.team SET tidied_at = p_at WHERE tidied_at < p_at - 86400000;
  IF NOT FOUND THEN RETURN; END IF;
  DELETE FROM gw_team.allowances a USING gw_team.periods p
    WHERE p.budget_id = a.budget_id AND p.start = a.start AND p.ends < before;
  DELETE FROM gw_team.periods WHERE ends < before;
  DELETE FROM gw_team.events WHERE created_at < before;
  DELETE FROM gw_team.usage_hours WHERE bucket < before;
  DELETE FROM gw_team.gateways g WHERE state <> 'active' AND synced_at < before
    AND NOT EXISTS (SELECT FROM gw_team.allowances WHERE gateway_id = g.id)
    AND NOT EXISTS (SELECT FROM gw_team.usage_hours WHERE gateway_id = g.id);
END $$;

-- A daemon starts, and fences the one before. Refused where another copy of the gateway's files was started since.
CREATE FUNCTION hello(p_gateway int, p_token text, p_old text, p_new text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE g gateways := caller(p_gateway, p_token); t team;
BEGIN
  PERFORM commit_durably();
  SELECT * INTO t FROM team;
  -- After a failover, this server may remember an older nonce than the gateway does.
  IF g.nonce NOT IN (p_old, p_new) AND t.frozen_since IS NULL
    AND split_part(t.incarnation, ':', 1) IN ('manual', incarnation_now()) THEN RETURN 'identity_in_use'; END IF;
  UPDATE gateways SET nonce = p_new, seq = CASE nonce WHEN p_new THEN seq ELSE 0 END, state = 'active' WHERE id = g.id;
  IF t.tidied_at < now_ms() - 86400000 AND pg_try_advisory_xact_lock(hashtext('gw_team.tidy')) THEN
    PERFORM tidy(now_ms());
  END IF;
  RETURN 'ok';
END $$;

CREATE FUNCTION usd(p_nano bigint) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
  SELECT trim_scale(p_nano / 1000000000.0) $$;

CREATE FUNCTION iso(p_at bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT to_char(to_timestamp(p_at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- Once for each budget, period, type, cap version and percent, with a delivery for each webhook.
CREATE FUNCTION emit(b budgets, p periods, p_type text, p_percent int DEFAULT 0) RETURNS void LANGUAGE plpgsql AS $$
DECLARE event bigint; at bigint := gw_team.now_ms();
BEGIN
  IF EXISTS (SELECT FROM gw_team.events WHERE budget_id = b.id AND start = p.start AND type = p_type
    AND cap_version = b.cap_version AND percent >= p_percent) THEN RETURN; END IF;
  INSERT INTO gw_team.events (budget_id, start, type, cap_version, percent, project, created_at, data)
  VALUES (b.id, p.start, p_type, b.cap_version, p_percent, b.project, greatest(at, p.start), jsonb_build_object(
    'budget_id', 'team/' || CASE b.project WHEN '' THEN '' ELSE b.project || '/' END || b.period,
    'team', true, 'period', b.period, 'cap_usd', gw_team.usd(b.cap), 'spent_usd', gw_team.usd(p.spent),
    'resets_at', gw_team.iso(p.ends))
    || CASE p_percent WHEN 0 THEN '{}' ELSE jsonb_build_object('alert_percent', p_percent) END
    || CASE p_type WHEN 'budget.reset' THEN jsonb_build_object('period_start', gw_team.iso(p.start)) ELSE '{}' END)
  ON CONFLICT DO NOTHING RETURNING id INTO event;
  INSERT INTO gw_team.deliveries (event_id, webhook_id, due_at)
    SELECT event, id, greatest(at, p.start) FROM gw_team.webhooks
    WHERE event IS NOT NULL AND removed_at IS NULL AND p_type = ANY (events);
END $$;

-- Creates the row of a period, and announces the reset if the budget had one before.
CREATE FUNCTION open_period(b budgets, p_start bigint, p_ends bigint, p_is_new boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE p gw_team.periods;
BEGIN
  INSERT INTO gw_team.periods (budget_id, start, ends) VALUES (b.id, p_start, p_ends) ON CONFLICT DO NOTHING RETURNING * INTO p;
  IF p.budget_id IS NOT NULL AND p_is_new AND b.removed_at IS NULL
    AND EXISTS (SELECT FROM gw_team.periods WHERE budget_id = b.id AND start < p_start) THEN
    PERFORM gw_team.emit(b, p, 'budget.reset');
  END IF;
END $$;

-- Reports spend, returns money and asks for money, for several budgets at once. protocol.ts describes the rows.
CREATE FUNCTION sync(p_gateway int, p_token text, p_nonce text, p_seq bigint, p_rows jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE
  g gateways := caller(p_gateway, p_token); t team; b budgets; p periods; a allowances; r record; at bigint;
  declared bigint; kept bigint; left_ bigint; x bigint; extra bigint; new_spent bigint; running bigint; until_ bigint;
  is_new boolean; is_open boolean; starved boolean; tight boolean; alert int;
  answer jsonb := '[]'; most_active int := 1; any_near boolean := false;
BEGIN
  -- The second read of the cap, under the lock, must see what was committed meanwhile.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'sync() needs the isolation level read committed' USING ERRCODE = 'GW002';
  END IF;
  PERFORM commit_durably();
  IF g.state <> 'active' THEN RETURN jsonb_build_object('error', g.state); END IF;
  IF g.nonce IS DISTINCT FROM p_nonce THEN RETURN '{"error":"fenced"}'; END IF;
  IF p_seq IS NULL OR p_seq <= g.seq THEN RETURN '{"error":"stale"}'; END IF;
  at := now_ms();
  SELECT * INTO t FROM team;
  IF split_part(t.incarnation, ':', 1) NOT IN ('manual', incarnation_now()) THEN
    UPDATE team SET incarnation = incarnation_now(), frozen_since = coalesce(frozen_since, at) RETURNING * INTO t;
  END IF;
  UPDATE gateways SET seq = p_seq, synced_at = at WHERE id = g.id;
  FOR r IN SELECT (e->>'b')::int AS b, (e->>'p')::bigint AS p, (e->>'d')::bigint AS d, (e->>'s')::bigint AS s,
      (e->>'n')::bigint AS n, (e->>'w')::bigint AS w, (e->>'o')::bigint AS o, coalesce((e->>'f')::bigint, 0) AS f
      FROM jsonb_array_elements(p_rows) e ORDER BY 1, 2 LOOP
    SELECT * INTO b FROM budgets WHERE id = r.b;
    CONTINUE WHEN b.id IS NULL;
    -- least and greatest ignore NULL: one would pass as no bound at all.
    CONTINUE WHEN NOT coalesce(least(r.p, r.d, r.s, r.n, r.w, coalesce(r.o, 0)) >= 0
      AND r.p IS NOT NULL AND r.d IS NOT NULL AND r.s IS NOT NULL AND r.n IS NOT NULL AND r.w IS NOT NULL
      AND greatest(r.d, r.s, r.n, r.w, r.o) <= 1000000000000000000, false);
    SELECT s.start, s.ends INTO running, until_ FROM span_of(b.period, at) s;
    -- The running period, the next one in the minute before it starts, or an old one that exists.
    IF r.p = until_ AND at >= until_ - 60000 THEN
      SELECT s.start, s.ends INTO running, until_ FROM span_of(b.period, until_) s;
    END IF;
    IF r.p = running THEN
      PERFORM open_period(b, running, until_, true);
    ELSIF t.frozen_since IS NOT NULL AND r.p < running THEN   -- one that a failover made this server forget
      PERFORM open_period(b, s.start, s.ends, false) FROM span_of(b.period, r.p) s WHERE s.start = r.p;
    END IF;
    -- All functions lock gateways before periods, and periods in this order: no deadlock.
    SELECT * INTO p FROM periods WHERE budget_id = b.id AND start = r.p FOR UPDATE;
    CONTINUE WHEN p.budget_id IS NULL;
    SELECT * INTO b FROM budgets WHERE id = r.b;   -- again, under the lock that set_budget() takes too
    SELECT * INTO a FROM allowances WHERE budget_id = b.id AND start = r.p AND gateway_id = g.id;
    is_new := a.budget_id IS NULL;
    IF is_new THEN a := ROW(b.id, r.p, g.id, 0, 0, at, 0, 0, 0); END IF;
    -- No gateway can declare more than it was granted, but for what it has spent: a provider may bill above the hold.
    -- After a failover, the authority may be the one that forgot.
    new_spent := greatest(a.spent, r.s);
    IF t.frozen_since IS NULL THEN
      declared := greatest(new_spent, least(r.d, a.limit_ + a.reserve));
      kept := greatest(0, least(coalesce(r.o, a.reserve), a.reserve, a.limit_ + a.reserve - declared));
    ELSE
      declared := greatest(new_spent, r.d);
      kept := coalesce(r.o, a.reserve);
    END IF;
    left_ := b.cap - (p.allocated - a.limit_ - a.reserve + declared + kept);
    is_open := r.p = running AND t.frozen_since IS NULL AND b.removed_at IS NULL;
    x := 0;
    extra := 0;
    IF is_open AND left_ > 0 AND r.n + r.w > 0 THEN
      IF at - p.counted_at > 2000 THEN
        SELECT greatest(1, count(*)) INTO p.active FROM allowances
          WHERE budget_id = b.id AND start = r.p AND synced_at > at - 60000;
        p.counted_at := at;
      END IF;
      x := least(r.w, greatest(left_ / (t.divisor * p.active), t.min_slice));
      x := least(x, greatest(0, b.cap / 100 * t.max_share_percent - (declared - new_spent)));
      IF r.n <= left_ THEN x := greatest(x, r.n); END IF;
      x := least(x, left_);
      IF r.n > x THEN x := 0; END IF;   -- too little to be of use is left to others
      -- Reserves are not made of the last tenth.
      extra := greatest(0, least(coalesce(b.offline, 0) - a.reserve_given, left_ - x - b.cap / 10));
    END IF;
    p.allocated := p.allocated - a.limit_ - a.reserve + declared + x + kept + extra;
    p.spent := p.spent - a.spent - a.assumed + new_spent;
    -- A request that is larger than all that is unspent is helped by no recall.
    IF r.n > x AND r.p = running AND r.n <= b.cap - p.spent THEN p.starved_at := at; END IF;
    UPDATE periods SET allocated = p.allocated, spent = p.spent, active = p.active, counted_at = p.counted_at,
      starved_at = p.starved_at WHERE budget_id = b.id AND start = r.p;
    IF NOT is_new THEN
      UPDATE allowances SET limit_ = declared + x, spent = new_spent, synced_at = at, assumed = 0,
        reserve = kept + extra, reserve_given = a.reserve_given + extra
        WHERE budget_id = b.id AND start = r.p AND gateway_id = g.id;
    ELSIF declared + x + kept > 0 OR r.n + r.w > 0 THEN
      INSERT INTO allowances VALUES (b.id, r.p, g.id, declared + x, new_spent, at, 0, kept + extra, extra);
    END IF;
    IF new_spent > a.spent AND r.p = running AND b.cap > 0 AND b.removed_at IS NULL THEN
      SELECT max(e) INTO alert FROM unnest(b.alert_percents) e WHERE p.spent >= b.cap / 100.0 * e;
      IF alert IS NOT NULL THEN PERFORM emit(b, p, 'budget.threshold_reached', alert); END IF;
    END IF;
    IF r.f > b.cap - p.spent AND r.p = running AND b.removed_at IS NULL THEN
      PERFORM emit(b, p, 'budget.exceeded');
    END IF;
    left_ := b.cap - p.allocated;
    starved := p.starved_at > at - 30000;
    tight := starved OR left_ < b.cap / 50;
    any_near := any_near OR tight OR left_ < b.cap / 10;
    most_active := greatest(most_active, p.active);
    answer := answer || jsonb_build_object('b', b.id, 'p', r.p, 'l', declared + x, 'o', kept + extra, 'left', left_,
      'unspent', b.cap - p.spent, 'tight', tight, 'starved', starved, 'active', p.active, 'running', running, 'ends', until_);
  END LOOP;
  RETURN jsonb_build_object('seq', p_seq, 'now', at, 'rows', answer, 'config', t.config_version,
    'keys', t.keys_version, 'incarnation', t.incarnation, 'frozen', t.frozen_since IS NOT NULL,
    'sync_after_ms', greatest(CASE WHEN any_near THEN 2000 ELSE 15000 END, most_active * 1000 / t.syncs_per_second));
END $$;

-- Sets what a gateway holds to what it spent: it has said that it spends no more, or an admin takes the risk.
CREATE FUNCTION release(p_gateway int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE a gw_team.allowances; k record; total bigint := 0;
BEGIN
  FOR k IN SELECT budget_id, start FROM gw_team.allowances WHERE gateway_id = p_gateway ORDER BY 1, 2 LOOP
    PERFORM FROM gw_team.periods WHERE budget_id = k.budget_id AND start = k.start FOR UPDATE;
    SELECT * INTO a FROM gw_team.allowances
      WHERE budget_id = k.budget_id AND start = k.start AND gateway_id = p_gateway;
    UPDATE gw_team.periods SET allocated = allocated - (a.limit_ + a.reserve - a.spent), spent = spent - a.assumed
      WHERE budget_id = k.budget_id AND start = k.start;
    UPDATE gw_team.allowances SET limit_ = spent, reserve = 0, assumed = 0
      WHERE budget_id = k.budget_id AND start = k.start AND gateway_id = p_gateway;
    total := total + a.limit_ + a.reserve - a.spent;
  END LOOP;
  RETURN total;
END $$;

CREATE FUNCTION leave(p_gateway int, p_token text, p_nonce text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$
DECLARE g gateways := caller(p_gateway, p_token);
BEGIN
  PERFORM commit_durably();
  IF g.nonce IS DISTINCT FROM p_nonce THEN RETURN 'fenced'; END IF;
  UPDATE gateways SET state = 'left' WHERE id = g.id;
  PERFORM release(g.id);
  RETURN 'ok';
END $$;
