-- Money is nano-USD and time is UTC milliseconds by this server's clock, both bigint.
-- Members may call functions and touch no table; the functions run as the owner.

CREATE TABLE migrations (version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());

CREATE TABLE team (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  name text NOT NULL,
  timezone text NOT NULL,
  config_version bigint NOT NULL DEFAULT 1,
  keys_version bigint NOT NULL DEFAULT 1,
  -- System identifier and timeline, or 'manual' where the server does not tell them; a freeze by hand adds ':' and a time.
  incarnation text NOT NULL,
  frozen_since bigint,                   -- set while commits may have been lost: nothing is granted
  syncs_per_second int NOT NULL DEFAULT 300 CHECK (syncs_per_second > 0),
  min_slice bigint NOT NULL DEFAULT 10000000,
  divisor int NOT NULL DEFAULT 2 CHECK (divisor > 0),
  max_share_percent int NOT NULL DEFAULT 25 CHECK (max_share_percent BETWEEN 1 AND 100),
  tidied_at bigint NOT NULL DEFAULT 0
);

CREATE TABLE gateways (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  member name NOT NULL,                  -- the login role that joined it
  token_hash bytea NOT NULL UNIQUE,
  nonce text NOT NULL,                   -- of the running daemon; messages of an older one are refused
  seq bigint NOT NULL DEFAULT 0,         -- last message of that daemon
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'left', 'forgotten')),
  joined_at bigint NOT NULL,
  synced_at bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE budgets (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project text NOT NULL DEFAULT '',      -- '': the whole team
  period text NOT NULL CHECK (period IN ('daily', 'monthly')),
  cap bigint NOT NULL CHECK (cap BETWEEN 0 AND 1000000000000000),
  cap_version int NOT NULL DEFAULT 1,
  alert_percents int[] NOT NULL DEFAULT '{80}',
  offline bigint CHECK (offline >= 0),   -- reserve of each gateway; NULL: none
  removed_at bigint
);
CREATE UNIQUE INDEX budgets_live ON budgets (project, period) WHERE removed_at IS NULL;

-- The hot row. allocated is the sum of its allowances' limits and reserves, and grows only up to the cap. No index on
-- a column that sync() updates: such updates stay heap-only.
CREATE TABLE periods (
  budget_id int NOT NULL REFERENCES budgets,
  start bigint NOT NULL,
  ends bigint NOT NULL,
  allocated bigint NOT NULL DEFAULT 0,
  spent bigint NOT NULL DEFAULT 0,
  active int NOT NULL DEFAULT 1,
  counted_at bigint NOT NULL DEFAULT 0,
  starved_at bigint NOT NULL DEFAULT 0,  -- when a request last lacked money that gateways hold
  PRIMARY KEY (budget_id, start)
) WITH (fillfactor = 10);

CREATE TABLE allowances (
  budget_id int NOT NULL,
  start bigint NOT NULL,
  gateway_id int NOT NULL REFERENCES gateways,
  limit_ bigint NOT NULL,                -- the most that the gateway may spend in the period
  spent bigint NOT NULL,
  synced_at bigint NOT NULL,
  assumed bigint NOT NULL DEFAULT 0,     -- of a forgotten gateway: granted, not reported, counted as spent
  reserve bigint NOT NULL DEFAULT 0,     -- what it may spend above the limit while the authority is unreachable
  reserve_given bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (budget_id, start, gateway_id),
  FOREIGN KEY (budget_id, start) REFERENCES periods
) WITH (fillfactor = 50);
CREATE INDEX allowances_of_gateway ON allowances (gateway_id);

CREATE TABLE events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  public_id text NOT NULL DEFAULT 'evt_' || replace(gen_random_uuid()::text, '-', ''),
  budget_id int NOT NULL,
  start bigint NOT NULL,
  type text NOT NULL,
  cap_version int NOT NULL,
  percent int NOT NULL,                  -- 0 where the event is no alert
  project text NOT NULL,
  created_at bigint NOT NULL,
  data jsonb NOT NULL,
  UNIQUE (budget_id, start, type, cap_version, percent)
);

CREATE TABLE webhooks (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  url text NOT NULL,
  secret text NOT NULL,
  format text NOT NULL,
  events text[] NOT NULL,
  created_at bigint NOT NULL,
  removed_at bigint
);

CREATE TABLE deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id bigint NOT NULL REFERENCES events ON DELETE CASCADE,
  webhook_id int NOT NULL REFERENCES webhooks,
  due_at bigint NOT NULL,
  claimed_by int,
  claim_ends bigint NOT NULL DEFAULT 0,
  claims int NOT NULL DEFAULT 0,
  delivered_at bigint,
  failed_at bigint,
  reason text,
  UNIQUE (event_id, webhook_id)
);
CREATE INDEX deliveries_open ON deliveries (id) WHERE delivered_at IS NULL AND failed_at IS NULL;

CREATE TABLE usage_hours (
  gateway_id int NOT NULL REFERENCES gateways,
  bucket bigint NOT NULL,
  project text NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  key_label text NOT NULL,
  member name NOT NULL,
  version bigint NOT NULL,
  requests bigint NOT NULL,
  blocked_requests bigint NOT NULL,
  failed_requests bigint NOT NULL,
  unpriced_requests bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  saved_tokens bigint NOT NULL,
  cost bigint NOT NULL,
  saved bigint NOT NULL,
  PRIMARY KEY (bucket, gateway_id, project, provider, model, key_label)
);

CREATE TABLE keys (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash text NOT NULL UNIQUE,             -- SHA-256, hexadecimal
  hint text NOT NULL,
  label text NOT NULL,
  project text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  models text[],
  rpm int,
  version bigint NOT NULL
);

CREATE TABLE audit (at bigint NOT NULL, who name NOT NULL, what text NOT NULL, data jsonb NOT NULL);

CREATE FUNCTION schema_version() RETURNS int
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = gw_team, pg_temp AS $$ SELECT max(version) FROM migrations $$;
