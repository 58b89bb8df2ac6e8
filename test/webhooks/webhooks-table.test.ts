import type { LookupFunction } from 'node:net';
import { test } from 'vitest';
import { createCalendar } from '../../src/calendar.ts';
import { GwError } from '../../src/errors.ts';
import { WEBHOOK_FORMATS, type WebhookFormat } from '../../src/store/webhooks/endpoints.ts';
import {
  type AddressPolicy,
  addressPolicy,
  checkBehindProxy,
  createCheckedConnector,
  refusalOfUrl,
} from '../../src/webhooks/address-check.ts';
import { describe as describeEvent } from '../../src/webhooks/format/message.ts';
import { recogniseFormat } from '../../src/webhooks/format/recognise.ts';
import { buildPost, type Outgoing } from '../../src/webhooks/request.ts';
import { parseChange, parseRegistration } from '../../src/webhooks/validate.ts';
import { parseId, viewDelivery, viewEndpoint } from '../../src/webhooks/views.ts';
import { expectFrozen, type Row, variationsOf } from '../support/frozen.ts';

const AT = Date.UTC(2026, 4, 12, 11, 40);
const HOUR = 3_600_000;
const PARIS = createCalendar('Europe/Paris');
const LOCAL: AddressPolicy = { allowLocal: true, ownPort: 4747 };
const CLOSED: AddressPolicy = { allowLocal: false, ownPort: 4747 };

type Lookup = NonNullable<Parameters<typeof createCheckedConnector>[2]['lookup']>;

const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });
const orRefusal = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    if (error instanceof GwError) return `refused ${error.param} ${error.code} ${error.message.slice(0, 90)}`;
    throw error;
  }
};

/** Data of events of each type, with all that a message may say of them. */
const BUDGET = {
  ...{
    budget_id: 'web/daily',
    period: 'daily',
    repo: '/home/me/shop',
    spent_usd: 16.2,
    held_usd: 0.5,
    cap_usd: 20,
  },
  ...{ alert_percent: 80, resets_at: '2026-05-12T22:00:00.000Z', skipped: 2 },
};
const DATA: Record<string, [type: string, data: object]> = {
  'a threshold': ['budget.threshold_reached', BUDGET],
  'a threshold of a team': [
    'budget.threshold_reached',
    { ...BUDGET, budget_id: 'web@team/daily', team: true },
  ],
  'cheaper models': ['budget.threshold_reached', { ...BUDGET, kind: 'fallback', fallback: 'a/b' }],
  'a window of a subscription': [
    'budget.threshold_reached',
    {
      kind: 'limit_window',
      service: 'claude',
      window: '5h',
      used: 0.81,
      forecast: true,
      full_at: '2026-05-12T13:00:00.000Z',
      resets_at: '2026-05-12T15:00:00.000Z',
    },
  ],
  'a runaway': [
    'budget.threshold_reached',
    { kind: 'runaway', session: "s'1", agent: 'claude', message: 'it repeats', spent_usd: 3 },
  ],
  'a budget that is exceeded': ['budget.exceeded', { ...BUDGET, spent_usd: 20.5 }],
  'a rate that is exceeded': ['budget.exceeded', { ...BUDGET, period: 'rolling', budget_id: 'web/rolling' }],
  'a reset': ['budget.reset', BUDGET],
  'a blocked request': [
    'request.blocked',
    { ...BUDGET, model: 'openai/gpt`5', request_id: 'req_1', estimated_cost_usd: 0.02, remaining_usd: 0 },
  ],
  'a question': [
    'request.approval_requested',
    {
      ...BUDGET,
      ask_id: 'ask_1',
      needed_usd: 0.3,
      model: 'gpt-5',
      agent: 'claude',
      expires_at: '2026-05-12T12:00:00.000Z',
    },
  ],
  'a test': ['budget.exceeded', { ...BUDGET, test: true }],
  'an unknown type': ['new.type', { a: 1 }],
};

test('what messages say of each event, and of one in which something is missing', async () => {
  const message = (
    type: string,
    data: unknown,
    { project = 'web', ...more }: { project?: string; eventCount?: number; since?: number } = {},
  ) => {
    const event = { id: 'evt_1', type, createdAt: AT, project, data: JSON.stringify(data) };
    const { tone, title, facts, command } = describeEvent(event, { calendar: PARIS, ...more });
    return {
      tone,
      title,
      facts: Object.fromEntries(
        facts.map(({ label, value, external }) => [label, external ? `<${value}>` : value]),
      ),
      command,
    };
  };
  const others = (value: unknown) =>
    typeof value === 'number' ? [0, 1] : typeof value === 'boolean' ? [!value] : [];
  const rows = Object.entries(DATA).map(
    ([name, [type, data]]): Row => ({
      name,
      outcome: () => message(type, data),
      variations: [
        ...Array.from(variationsOf(data, others), (other) => ({
          name: other.name,
          outcome: () => message(type, other.value),
        })),
        { name: 'of the whole team', outcome: () => message(type, data, { project: '' }) },
      ],
    }),
  );
  const [type, data] = DATA['a blocked request'] as [string, object];
  const counts = [1, 2, 24].map((eventCount) =>
    row(`${eventCount} blocked requests`, () => message(type, data, { eventCount, since: AT - HOUR })),
  );
  const outgoing = (format: WebhookFormat, more: Partial<Outgoing> = {}) =>
    ({
      ...{
        url: 'https://x.test/a/topic-1?k=v',
        secret: 'whsec_QUJD',
        oldSecret: null,
        oldSecretUntil: null,
        format,
      },
      ...{ eventId: 'evt_1', type, eventAt: AT, project: 'web', data: JSON.stringify(data) },
      ...more,
    }) as Outgoing;
  const post = (given: Outgoing) => {
    const { url, headers, body, secrets } = buildPost(given, { calendar: PARIS, now: AT + 500 });
    return {
      url,
      headers,
      body: given.format === 'json' || given.format === 'ntfy' ? JSON.parse(String(body)) : body.length,
      secrets,
    };
  };
  await expectFrozen(import.meta.dirname, 'messages', [
    ...rows,
    ...counts,
    ...WEBHOOK_FORMATS.map((format) => row(`a post to ${format}`, () => post(outgoing(format)))),
    row(
      'a post of a rotating secret',
      () => post(outgoing('json', { oldSecret: 'whsec_REVG', oldSecretUntil: AT + 501 })).headers,
    ),
    row(
      'a post of a rotated secret',
      () => post(outgoing('json', { oldSecret: 'whsec_REVG', oldSecretUntil: AT + 500 })).headers,
    ),
    row('a post of several', () => post(outgoing('json', { eventCount: 3, since: AT - HOUR })).body),
    row(
      'a post of several to Slack',
      () =>
        JSON.parse(
          String(
            buildPost(outgoing('slack', { eventCount: 3, since: AT - HOUR }), { calendar: PARIS, now: AT })
              .body,
          ),
        ).text,
    ),
    row(
      'the command of a question with a whole id',
      () => message('request.approval_requested', { ...BUDGET, ask_id: 'ask_04zssbe0001' }).command,
    ),
    row(
      'a post of another event',
      () => post(outgoing('json', { type: 'budget.reset', data: '{"a":1}' })).body,
    ),
  ]);
});

const URLS = [
  ...[
    'https://x.test/a',
    'http://x.test',
    'ftp://x.test',
    'x.test',
    'https://u@x.test/',
    'https://:p@x.test/',
  ],
  ...[
    'https://127.0.0.1:4747/',
    'https://127.0.0.1:4748/',
    'http://localhost:4747',
    'http://localhost.:1/',
    'http://[::1]:4747/',
  ],
  ...[
    'https://10.0.0.1/',
    'https://169.254.169.254/',
    'https://8.8.8.8/',
    'https://x.test/a b',
    ' https://x.test/',
    `https://x.test/${'a'.repeat(2_034)}`,
    `https://x.test/${'b'.repeat(2_033)}`,
  ],
  ...[
    'https://hooks.slack.com/services/T/B/x',
    'https://discord.com/api/webhooks/1/x',
    'https://ptb.discord.com/api/webhooks/1/x',
  ],
  ...[
    'https://chat.googleapis.com/v1/spaces/x/messages?key=k',
    'https://ntfy.sh/topic',
    'https://ntfy.sh/',
    'https://x.webhook.office.com/webhookb2/x',
  ],
  ...[
    'https://prod-1.westeurope.logic.azure.com/workflows/x',
    'https://x.test/hooks/abcdefghijklmnopqrstuvwxyz',
  ],
];
const ENDPOINT = {
  ...{
    id: 3,
    projectId: 1,
    project: 'web',
    plan: 'pro',
    url: 'https://hooks.slack.com/services/T/B/x',
    format: 'slack',
    events: ['budget.reset'],
  },
  ...{
    disabledAt: null,
    disabledReason: null,
    consecutiveFailures: 2,
    createdAt: AT,
    oldSecretUntil: AT + HOUR,
  },
};
const DELIVERY = {
  ...{
    id: 4,
    endpointId: 3,
    eventId: 'evt_1',
    type: 'budget.reset',
    eventCount: 1,
    state: 'pending',
    attempts: 1,
    dueAt: AT,
  },
  ...{
    attemptedAt: AT,
    durationMs: 5,
    status: 500,
    response: 'no',
    error: 'HTTP 500',
    createdAt: AT,
    finishedAt: null,
    replayedAt: null,
  },
};

test('which webhooks are taken, and how they are shown', async () => {
  const register = (input: unknown, policy = LOCAL) => orRefusal(() => parseRegistration(input, policy));
  const change = (input: unknown, current: WebhookFormat = 'json') =>
    orRefusal(() => parseChange(input, LOCAL, current));
  const url = 'https://x.test/topic';
  const inputs: unknown[] = [
    ...[
      null,
      [],
      {},
      { url: 5 },
      { url, events: [] },
      { url, events: 'all' },
      { url, events: ['budget.reset', 'x'] },
    ],
    ...[
      { url, events: ['request.blocked', 'budget.reset', 'budget.reset'] },
      { url, format: 'x' },
      { url, format: 'ntfy' },
    ],
    ...[
      { url: 'https://x.test/', format: 'ntfy' },
      { url, project_id: 5 },
      { url, project_id: 'web' },
      { url, other: 1 },
    ],
  ];
  const changes: [unknown, WebhookFormat?][] = [
    [{}],
    [{ enabled: false }],
    [{ enabled: 'no' }],
    [{ url }],
    [{ url }, ['ntfy'][0] as WebhookFormat],
    [{ url }, 'mattermost'],
    [{ url }, 'slack'],
    [{ url: 'https://x.test/' }, 'ntfy'],
    [{ url: 'https://discord.com/api/webhooks/1/x' }, 'ntfy'],
    [{ format: 'ntfy' }],
    [{ events: ['budget.reset'] }],
    [{ project_id: 'web' }],
  ];
  const own = (host: string, allowedHosts: string[] = []) => addressPolicy({ host, port: 1, allowedHosts });
  const behind = async (host: string, addresses: string[] | undefined, policy = CLOSED) =>
    checkBehindProxy(new URL(host), policy, (_name, _options, callback) =>
      addresses
        ? callback(
            null,
            addresses.map((address) => ({ address, family: 4 })),
          )
        : callback(new Error('unknown'), []),
    ).then(() => 'passes', String);
  /** What a connector hands on for a name, by its options for the look-up. */
  const connected = (hostname: string, lookupOptions: object, addresses?: string[]) =>
    new Promise((resolve) => {
      const build = (({ lookup }: { lookup: LookupFunction }) =>
        () =>
          lookup(hostname, lookupOptions, (error, ...found) =>
            resolve(error ? String(error) : found),
          )) as never;
      const lookup: Lookup = (_name, { all, family }, callback) =>
        all && addresses
          ? callback(
              null,
              addresses.map((address) => ({ address, family: family || 4 })),
            )
          : callback(new Error('unknown'), []);
      const connect = createCheckedConnector(build, () => CLOSED, { lookup, timeoutMs: 5 });
      connect({ hostname, protocol: 'https:', port: '' } as never, (...[error]) => resolve(String(error)));
    });
  const endpoint = (more: object, now = AT) => viewEndpoint({ ...ENDPOINT, ...more } as never, now);
  await expectFrozen(import.meta.dirname, 'registrations', [
    ...URLS.map((each) =>
      row(each.slice(0, 60), () =>
        [register({ url: each }), register({ url: each }, CLOSED)].map((found) =>
          typeof found === 'string'
            ? found
            : [(found as { url: string }).url.slice(0, 40), (found as { format: string }).format].join(' '),
        ),
      ),
    ),
    ...inputs.map((input) => row(`registered: ${JSON.stringify(input)}`, () => register(input))),
    ...changes.map(([input, current]) =>
      row(`changed: ${JSON.stringify(input)} of ${current ?? 'json'}`, () => change(input, current)),
    ),
    row('policies', () =>
      [
        own('127.0.0.1'),
        own('localhost'),
        own('[::1]'),
        own('0.0.0.0'),
        own('gw.test'),
        own('127.0.0.1', ['gw.test']),
        own('127.0.0.1', ['localhost']),
      ].map(({ allowLocal }) => allowLocal),
    ),
    row('ports', () =>
      ['http://127.0.0.1', 'https://127.0.0.1', 'http://127.0.0.1:443'].map((each) =>
        [80, 443].map((ownPort) => refusalOfUrl(new URL(each), { ...LOCAL, ownPort })),
      ),
    ),
    row('behind a proxy', async () =>
      Promise.all([
        behind('https://10.0.0.1', []),
        behind('https://8.8.8.8', undefined),
        behind('https://x.test', ['8.8.8.8']),
        behind('https://x.test', ['8.8.8.8', '10.0.0.1']),
        behind('https://x.test', undefined),
        behind('https://x.test', ['10.0.0.1'], LOCAL),
      ]),
    ),
    row('a connector', () =>
      Promise.all([
        connected('10.0.0.1', {}),
        connected('x.test', {}, ['8.8.8.8', '8.8.4.4']),
        connected('x.test', { all: true }, ['8.8.8.8', '8.8.4.4']),
        connected('x.test', { family: 'IPv6' }, ['2a00::1']),
        connected('x.test', { family: 'IPv4' }, ['8.8.8.8']),
        connected('x.test', {}, ['8.8.8.8', '10.0.0.1']),
        connected('x.test', {}, []),
        connected('x.test', {}),
      ]),
    ),
    row('formats', () => URLS.slice(-9).map((each) => recogniseFormat(new URL(each)))),
    row('ids', () =>
      ['wh_3', '3', 'dlv_3', 'wh_0', 'wh_03', 'x', '1234567890123456']
        .flatMap((id) => [parseId(id, 'wh') ?? 'no', parseId(id, 'dlv') ?? 'no'])
        .join(),
    ),
    row('an endpoint', () => endpoint({})),
    row('an endpoint whose rotation has ended', () => endpoint({}, AT + HOUR).previous_secret_expires_at),
    row(
      'an endpoint without a rotation',
      () => endpoint({ oldSecretUntil: null }).previous_secret_expires_at,
    ),
    row('a disabled endpoint', () => endpoint({ disabledAt: AT, disabledReason: 'it fails' })),
    row('an endpoint of a free plan', () => endpoint({ plan: 'free' })),
    row('a delivery', () => viewDelivery(DELIVERY as never)),
    row('a delivery that has ended', () =>
      viewDelivery({
        ...DELIVERY,
        state: 'failed',
        attemptedAt: null,
        finishedAt: AT,
        replayedAt: AT,
      } as never),
    ),
  ]);
});
