import { Counter, Gauge, Histogram, Registry, type RegistryContentType } from 'prom-client';
import type { Calendar } from '../calendar.ts';
import type { Clock } from '../clock.ts';
import type { HealthSnapshot } from '../routing/health.ts';
import { listProjects } from '../store/accounts/projects.ts';
import { createStandingsReader } from '../store/dashboard/standings.ts';
import { createWebhookReader } from '../store/dashboard/webhook-health.ts';
import type { Db } from '../store/database/open.ts';
import type { Ledger } from '../store/ledger/ledger.ts';
import { FLAGS, type RequestRecord } from '../store/ledger/record.ts';
import { capOf, roomOf, spentOf } from '../store/ledger/standing.ts';
import { budgetName } from '../store/ledger/terms.ts';
import { listLimits } from '../store/limits/limit-rows.ts';
import { type Membership, readMembership } from '../store/team/membership.ts';
import { VERSION } from '../version.ts';

export interface MetricsOptions {
  /** A read-only connection. */
  db: Db;
  ledger: Pick<Ledger, 'onRecords'>;
  clock: Clock;
  calendar: () => Calendar;
  health: () => HealthSnapshot;
}

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * The daemon's metrics, created at the first scrape. Counters start at 0 then: a gw that nobody scrapes counts nothing.
 * Labels exclude keys, sessions, paths and callers, and their budgets.
 */
export function createMetrics(options: MetricsOptions) {
  const registry = new Registry<RegistryContentType>();
  const projects = createProjectNames(options.db);
  const observe = createRequestMetrics(registry, projects.nameOf);
  options.ledger.onRecords((records) => records.forEach(observe));
  addBuildInfo(registry);
  addProcess(registry, options.clock);
  addBudgets(registry, options);
  addTeam(registry, options);
  addProviders(registry, options);
  addWebhooks(registry, options);
  addLimits(registry, options);
  let last: Promise<unknown> = Promise.resolve();

  async function write(accept: string | undefined) {
    await projects.refresh();
    const isOpen = accept?.includes('application/openmetrics-text') === true;
    registry.setContentType(isOpen ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE);
    return { contentType: registry.contentType, body: await registry.metrics() };
  }

  return {
    /** `accept` is the scraper's header: OpenMetrics if it names that, else Prometheus's text format. */
    page(accept: string | undefined) {
      // Serialized, because the registry has one format at a time.
      const page = last.then(() => write(accept));
      last = page.catch(() => {});
      return page;
    },
  };
}

/** Project names by id. A new project's name is available from the next scrape on. */
function createProjectNames(db: Db) {
  let names = new Map<number, string>();
  return {
    nameOf: (id: number) => names.get(id) ?? `#${id}`,
    async refresh() {
      names = new Map((await listProjects(db)).map(({ id, name }) => [id, name]));
    },
  };
}

function addBuildInfo(registry: Registry<RegistryContentType>): void {
  new Gauge({
    name: 'gw_build_info',
    help: 'The version of gw, as a label.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: VERSION }, 1);
}

/** Process metrics that dashboards expect under these names. */
function addProcess(registry: Registry<RegistryContentType>, clock: Clock): void {
  const registers = [registry];
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the daemon started, in seconds since 1970.',
    registers,
  }).set(clock.now() / 1000 - process.uptime());
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of the daemon.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of the daemon.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
}

function addBudgets(registry: Registry<RegistryContentType>, { db, calendar, clock }: MetricsOptions): void {
  const read = createStandingsReader(db);
  const shared = { labelNames: ['budget' as const], registers: [registry] };
  const gauge = (name: string, help: string) => new Gauge({ name, help, ...shared });
  // Registered first, because it is collected first and fills the other gauges.
  const spent = new Gauge({
    name: 'gw_budget_spent_usd',
    help: 'What the budget has spent in its running period.',
    ...shared,
    collect() {
      for (const each of [cap, held, spent, granted, room, short]) each.reset();
      for (const standing of read({ calendar: calendar(), now: clock.now() })) {
        const { budget, pending, team } = standing;
        if (budget.repo !== '' || (budget.scopeKind !== '' && !team) || budget.keyId !== 0) continue;
        const labels = { budget: budgetName(budget) };
        cap.set(labels, capOf(standing) / 1e9);
        held.set(labels, pending / 1e9);
        this.set(labels, spentOf(standing) / 1e9);
        if (!team) continue;
        granted.set(labels, budget.capNanoUsd / 1e9);
        room.set(labels, roomOf(standing) / 1e9);
        short.set(labels, team.tight ? 1 : 0);
      }
    },
  });
  const cap = gauge('gw_budget_cap_usd', 'The cap of a budget.');
  const held = gauge('gw_budget_held_usd', 'What running requests may still cost the budget.');
  const granted = gauge(
    'gw_team_granted_usd',
    "What this gateway may spend of a team's budget in its period, in all.",
  );
  const room = gauge('gw_team_room_usd', "What new requests may use here of a team's budget.");
  const short = gauge('gw_team_short', "Whether money of a team's budget is short: 1 if it is.");
}

/** Without a team, the gauges have no values. */
function addTeam(registry: Registry<RegistryContentType>, { db, clock }: MetricsOptions): void {
  const gauge = (name: string, help: string, read: (member: Membership) => number | undefined) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const member = readMembership(db);
        const value = member && read(member);
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  gauge('gw_team_synced_timestamp_seconds', "When the team's database last answered.", ({ syncedAt }) =>
    syncedAt === null ? undefined : syncedAt / 1000,
  );
  gauge('gw_team_reachable', "Whether the team's database answered last: 1 if it did.", (member) =>
    member.unreachableSince === null ? 1 : 0,
  );
  gauge(
    'gw_team_frozen',
    'Whether the team grants nothing after a failover: 1 if so.',
    ({ frozen }) => frozen,
  );
  gauge('gw_team_courier', "Whether this gateway delivers the team's events: 1 if so.", ({ courierUntil }) =>
    courierUntil > clock.now() ? 1 : 0,
  );
  gauge(
    'gw_team_clock_offset_seconds',
    "How far this clock is behind the team's.",
    (member) => member.offsetMs / 1000,
  );
}

function addProviders(registry: Registry<RegistryContentType>, { health }: MetricsOptions): void {
  new Gauge({
    name: 'gw_provider_blocks',
    help: 'Accounts, keys and models of a provider that get no requests now, by reason.',
    labelNames: ['provider', 'reason'],
    registers: [registry],
    collect() {
      this.reset();
      const { blocks, targets } = health();
      for (const { id, because } of blocks) this.inc({ provider: providerOf(id), reason: because });
      for (const { id, openLeftMs } of targets) {
        if (openLeftMs > 0) this.inc({ provider: providerOf(id), reason: 'breaker' });
      }
    },
  });
}

/** The provider in an id such as `target:openai/KEY/gpt-4o` or `account:openai`. */
const providerOf = (id: string): string => id.slice(id.indexOf(':') + 1).split('/', 1)[0] ?? '';

function addWebhooks(registry: Registry<RegistryContentType>, { db }: MetricsOptions): void {
  const read = createWebhookReader(db);
  new Gauge({
    name: 'gw_webhook_deliveries_open',
    help: 'Webhook deliveries that have not succeeded yet.',
    registers: [registry],
    collect() {
      this.set(read().reduce((sum, { open }) => sum + open, 0));
    },
  });
}

/** The windows of subscriptions, by a hash of their account. Without one, the gauges have no values. */
function addLimits(registry: Registry<RegistryContentType>, { db, clock }: MetricsOptions): void {
  const shared = { labelNames: ['login', 'window', 'model'] as const, registers: [registry] };
  new Gauge({
    name: 'gw_limit_used_ratio',
    help: "What is used of a subscription's window, 0 to 1, as the provider said last.",
    ...shared,
    collect() {
      for (const each of [this, resets]) each.reset();
      for (const { login, window, model, usedPpm, resetsAt } of listLimits(db)) {
        const isOver = resetsAt <= clock.now();
        this.set({ login, window, model }, isOver ? 0 : usedPpm / 1e6);
        if (!isOver) resets.set({ login, window, model }, resetsAt / 1_000);
      }
    },
  });
  const resets = new Gauge({
    name: 'gw_limit_resets_timestamp_seconds',
    help: "When a subscription's window resets.",
    ...shared,
  });
}

/** Limits the number of series: clients choose model names, and each is a series. */
const MAX_MODELS = 200;

const DURATIONS_S = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Registers the request metrics and returns the function that adds a record to them. */
function createRequestMetrics(
  registry: Registry<RegistryContentType>,
  projectName: (id: number) => string,
): (record: RequestRecord) => void {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: ['provider'], buckets: DURATIONS_S, registers });
  const served = ['provider', 'model'] as const;
  const requests = counter(
    'gw_requests_total',
    'Requests by how they ended: ok, blocked (by a budget), client_gone, upstream_error, ...',
    [...served, 'outcome'],
  );
  const tokens = counter(
    'gw_tokens_total',
    'Billed tokens. cached and cache_write are parts of input, reasoning is a part of output.',
    [...served, 'type'],
  );
  const cost = counter('gw_cost_usd_total', 'Cost of requests in US dollars.', [...served, 'project']);
  const savedTokens = counter(
    'gw_optimizer_saved_tokens_total',
    'Input tokens that compression spared.',
    served,
  );
  const estimated = counter(
    'gw_estimated_requests_total',
    'Requests whose tokens gw counted itself, as the provider reported none.',
    served,
  );
  const durations = histogram(
    'gw_request_duration_seconds',
    'Time from the request to the end of its answer.',
  );
  const firstBytes = histogram(
    'gw_first_byte_seconds',
    'Time from the request to the first byte of its answer.',
  );
  const models = new Set<string>();

  function modelLabel({ provider, model }: RequestRecord): string {
    // The model of a request that was never sent is the client's text.
    if (provider === '') return '';
    if (models.size < MAX_MODELS) models.add(model);
    return models.has(model) ? model : 'other';
  }

  return (record) => {
    const { provider, outcome, usage, projectId, costNanoUsd, durationMs, firstByteMs } = record;
    const labels = { provider, model: modelLabel(record) };
    requests.inc({ ...labels, outcome });
    const counts = {
      input: usage.inputTokens,
      cached: usage.cachedInputTokens,
      cache_write: usage.cacheWriteTokens + usage.cacheWrite1hTokens,
      output: usage.outputTokens,
      reasoning: usage.reasoningTokens,
    };
    for (const [type, count] of Object.entries(counts)) if (count > 0) tokens.inc({ ...labels, type }, count);
    if (costNanoUsd > 0) cost.inc({ ...labels, project: projectName(projectId) }, costNanoUsd / 1e9);
    if (record.savedTokens > 0) savedTokens.inc(labels, record.savedTokens);
    if (record.flags & FLAGS.estimated) estimated.inc(labels);
    if (provider === '' || outcome === 'blocked') return;
    durations.observe({ provider }, durationMs / 1000);
    if (firstByteMs !== null) firstBytes.observe({ provider }, firstByteMs / 1000);
  };
}
