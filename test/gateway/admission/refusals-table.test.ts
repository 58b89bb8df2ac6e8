import { test } from 'vitest';
import { createCalendar } from '../../../src/calendar.ts';
import type { GwError } from '../../../src/errors.ts';
import {
  blockedStatus,
  budgetBusy,
  exceededError,
  noRoomError,
  runawayError,
  teamUnreachable,
  unpricedError,
} from '../../../src/gateway/admission/errors.ts';
import type { RequestContext } from '../../../src/gateway/context/request-context.ts';
import type { Standing } from '../../../src/store/ledger/standing.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { responsesWire } from '../../../src/wire/apis/responses.ts';
import { expectFrozen, type Row } from '../../support/frozen.ts';
import { type Case, opened, quoted } from './quoted.ts';

const HI = [{ role: 'user', content: 'Hi' }];
const claude = { model: 'anthropic/claude-opus-4-6', wire: messagesWire };
const response = { model: 'openai/gpt-5.4', wire: responsesWire };
const NANO = 1_000_000_000;
const RESETS_AT = Date.UTC(2026, 0, 2, 3, 4, 5);
const budget = (fields: object): Standing => ({
  budget: {
    ...{ id: 1, projectId: 1, projectName: 'shop', period: 'daily', capNanoUsd: 10 * NANO, alertPercent: 80 },
    ...{ repo: '', scopeKind: '', scopeValue: '', windowMs: null, onLimit: 'block' },
    ...fields,
  } as unknown as Standing['budget'],
  posted: 9 * NANO,
  pending: 2 * NANO,
  resetsAt: RESETS_AT,
});
const STANDINGS: Record<string, Standing> = {
  daily: budget({}),
  'nothing held': { ...budget({}), pending: 0 },
  'a cap of nothing': budget({ capNanoUsd: 0 }),
  lifetime: { ...budget({ period: 'lifetime' }), resetsAt: Number.POSITIVE_INFINITY },
  'a rate of an hour': budget({ period: 'rolling', windowMs: 3_600_000 }),
  'a rate of a minute': budget({ period: 'rolling', windowMs: 60_000 }),
  'a rate of a day': budget({ period: 'rolling', windowMs: 86_400_000 }),
  'a rate of five minutes': budget({ period: 'rolling', windowMs: 300_000 }),
  'a rate of seconds': budget({ period: 'rolling', windowMs: 90_500 }),
  'a repository': budget({ repo: 'a/b c' }),
  'a label': budget({ scopeKind: 'label team', scopeValue: 'x y' }),
  'each member': budget({ scopeKind: 'each', scopeValue: 'key' }),
  'a key': budget({ scopeKind: 'key', scopeValue: 'ci' }),
  'a run': budget({ scopeKind: 'run', scopeValue: 'r' }),
  cents: { ...budget({ capNanoUsd: 30_000_000 }), posted: 29_000_000, pending: 0 },
  'the largest cap': budget({ capNanoUsd: 900_000 * NANO }),
  'a team': {
    ...budget({ scopeValue: 'shop' }),
    team: {
      capNanoUsd: 50 * NANO,
      unspentNanoUsd: 3 * NANO,
      reserveNanoUsd: 0,
      isCutOff: false,
      frozen: false,
    } as never,
  },
  'a frozen team that is gone': {
    ...budget({}),
    team: {
      capNanoUsd: 50 * NANO,
      unspentNanoUsd: -NANO,
      unreachableSince: 5_000,
      frozen: true,
      isCutOff: true,
      reserveNanoUsd: 0,
    } as never,
  },
};
const CODEX = { 'user-agent': 'codex_cli_rs/0.50.0', originator: 'codex_cli_rs' };

/** What a client gets to see of an error. */
function seen(error: GwError) {
  const { message, status, type, code, param, headers, fields, recorded } = error;
  const texts = message.replace(/\$[\d,.]+ of \$/, '$… of $');
  return {
    message: texts,
    status,
    type,
    code,
    param: param ?? undefined,
    headers,
    fields,
    recorded: recorded || undefined,
  };
}

test('what refusals say', async () => {
  const parts = await opened();
  const calendar = createCalendar('Europe/Berlin');
  const refusals: Record<string, Case> = {
    'a chat': { model: 'openai/gpt-4o', body: { messages: HI, max_tokens: 500 } },
    'an unknown price': { model: 'mock/other', body: { messages: HI } },
    'a name like others': { model: 'openai/gpt-4oo', body: { messages: HI } },
    'a preset': { model: 'openai/gpt-4o', body: { messages: HI, preset: 'p' } },
    'an unknown tool': { ...response, body: { input: 'Hi', tools: [{ type: 'new tool' }] } },
    searches: {
      ...response,
      body: { input: 'Hi', max_output_tokens: 900, max_tool_calls: 3, tools: [{ type: 'web_search' }] },
    },
    'a document at an address': {
      ...claude,
      body: {
        max_tokens: 5,
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'url', url: 'https://x' } }] },
        ],
      },
    },
    Codex: { model: 'openai/gpt-4o', headers: CODEX, body: { messages: HI, max_tokens: 500 } },
  };
  const rows: Row[] = [];
  const daily = STANDINGS.daily as Standing;
  for (const [name, each] of Object.entries(refusals)) {
    const quote = await quoted(parts, each);
    const by = (spent: number, standing = daily) => {
      const { quote: found, context, target } = quote();
      return seen(noRoomError({ context, target, calendar, spent }, { standing, quote: found }));
    };
    rows.push(
      { name, outcome: () => by(5 * NANO) },
      { name: `${name}, with room`, outcome: () => by(0).code },
    );
  }
  const chat = await quoted(parts, refusals['a chat'] as Case);
  const media = (unreported: string, unbounded?: string) => {
    const { context, target, quote } = chat();
    const wire = { ...context.wire, endpoint: 'videos', unreported } as unknown as RequestContext['wire'];
    return seen(
      unpricedError({ context: { ...context, wire }, target, calendar }, { ...quote, unbounded }, daily),
    );
  };
  const exceeded = (standing: Standing) => {
    const { context, target, quote } = chat();
    return exceededError({ context, target, calendar }, standing, { quote, needed: NANO });
  };
  const session = { session: { sessionId: "it's" } } as RequestContext;
  const named = Object.entries(STANDINGS);
  await expectFrozen(import.meta.dirname, 'refusals', [
    ...rows,
    {
      name: 'a budget without room',
      outcome: () => seen(exceeded(daily)),
      variations: named.map(([name, standing]) => ({ name, outcome: () => seen(exceeded(standing)) })),
    },
    {
      name: 'a busy budget',
      outcome: () => seen(budgetBusy(daily, NANO, undefined)),
      variations: named
        .slice(-4)
        .map(([name, standing]) => ({ name, outcome: () => seen(budgetBusy(standing, NANO, undefined)) })),
    },
    ...named.slice(-2).map(
      ([name, standing]): Row => ({
        name: `unreachable, ${name}`,
        outcome: () => seen(teamUnreachable(standing, NANO, 9_000)),
      }),
    ),
    { name: 'a runaway', outcome: () => seen(runawayError(session, daily)) },
    { name: 'an endpoint', outcome: () => media('unmetered') },
    { name: 'an endpoint, and why', outcome: () => media('free', 'it is long') },
    { name: 'statuses', outcome: () => [blockedStatus({}), blockedStatus(CODEX)] },
  ]);
});
