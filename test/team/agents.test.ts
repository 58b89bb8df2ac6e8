import { expect, test } from 'vitest';
import { usageOf } from '../support/chat-shapes.ts';
import { request } from '../support/client.ts';
import { MODEL } from '../support/gateway.ts';
import { postgresMissing } from '../support/postgres.ts';
import { sse } from '../support/sse-scripts.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { type Chance, chanceOf } from './history.ts';
import {
  bookedBy,
  type MemberProcess,
  periodsAt,
  startMember,
  startTeamServer,
} from './support/processes.ts';

const missing = postgresMissing({ ownServer: true });
const SEED = Number(process.env.GW_SEED ?? 1);
const CAP_USD = 20;
const CAP_NANO_USD = CAP_USD * 1e9;
/** Dollars per million tokens. A token of a prompt is four bytes here. */
const PRICE = { input: 3, output: 15 };
const TOKENS_PER_SECOND = 4_000;
const MAX_WAIT_MS = 10_000;

interface Play {
  /** Percent of the cap that the provider has billed. */
  usedAtFirst: number;
  usedAtEnd: number;
  /** Percent of the cap that is booked in the end: what a killed daemon's requests held counts as spent. */
  bookedAtEnd: number;
  served: number;
  refused: number;
  /** Refused although the team's cap, less all that is booked and held, had room. */
  falselyRefused: number;
  longestWaitMs: number;
}

interface PlayOptions {
  gateways: number;
  agents: number;
  /** On a team's budget; false: on a budget of the one gateway. */
  isTeam?: boolean;
  /** How often a daemon, or each third time the server, is killed. */
  kills?: number;
}

/** A scripted provider, the gateways in front of it, and agents that work until they are refused. */
async function play({ gateways, agents, isTeam = true, kills = 0 }: PlayOptions): Promise<Play> {
  const bill = { nanoUsd: 0 };
  const upstream = await startUpstream();
  scriptProvider(upstream, bill);
  const server = isTeam ? await startTeamServer(CAP_USD) : undefined;
  const home = {
    upstreamUrl: upstream.url,
    price: PRICE,
    settings: {
      'admission.max_wait_ms': MAX_WAIT_MS,
      'optimizer.level': 'off' as const,
      'metering.max_tokens_per_second': TOKENS_PER_SECOND,
    },
    ...(isTeam ? {} : { budget: { period: 'monthly' as const, capUsd: CAP_USD } }),
  };
  const members: MemberProcess[] = [];
  for (let i = 0; i < gateways; i++)
    members.push(await startMember({ ...home, teamUrl: server?.url, name: `gateway-${i}` }));
  const stage: Stage = { members, bill, served: 0, refused: 0, falselyRefused: 0, longestWaitMs: 0 };
  const chance = chanceOf(SEED);
  let isOver = false;
  const works = Promise.all(
    Array.from({ length: agents }, (_, i) => work(stage, members[i % gateways] as MemberProcess, i)),
  ).finally(() => {
    isOver = true;
  });
  for (let i = 0; i < kills && !isOver; i++) {
    await pause(1_500 + chance.int(2_000));
    if (i % 3 !== 2) await chance.pick(members).restart();
    else {
      await server?.postgres.kill();
      await pause(chance.int(1_500));
      await server?.postgres.start();
    }
  }
  await works;
  for (const member of members) await member.stop();
  const booked = members.reduce((sum, member) => sum + bookedBy(member).posted, 0);
  if (server) {
    expect(await periodsAt(server.url)).toEqual([{ allocated: booked, spent: booked }]);
  }
  await upstream.close();
  expect(bill.nanoUsd).toBeLessThanOrEqual(booked);
  expect(booked).toBeLessThanOrEqual(CAP_NANO_USD);
  const percent = (nanoUsd: number) => (100 * nanoUsd) / CAP_NANO_USD;
  const { served, refused, falselyRefused, longestWaitMs } = stage;
  const result = {
    usedAtFirst: percent(stage.atFirst ?? 0),
    usedAtEnd: percent(bill.nanoUsd),
    bookedAtEnd: percent(booked),
    served,
    refused,
    falselyRefused,
    longestWaitMs: Math.round(longestWaitMs),
  };
  console.log(JSON.stringify({ gateways, agents, isTeam, kills, ...result }));
  return result;
}

/** Bills a request when it comes, and writes for as long as its tokens take. */
function scriptProvider(upstream: Upstream, bill: { nanoUsd: number }): void {
  const chance = chanceOf(SEED + 1);
  upstream.script(async (exchange) => {
    const body = await exchange.body;
    const { max_tokens: limit } = JSON.parse(String(body)) as { max_tokens: number };
    // 250 in the median, 6,000 in the 99th percentile.
    const tokens = Math.min(limit, Math.ceil(logNormal(chance, 250, 1.366)));
    const usage = usageOf(Math.ceil(body.length / 4), tokens);
    bill.nanoUsd += (usage.prompt_tokens * PRICE.input + tokens * PRICE.output) * 1_000;
    const answer = sse(['So', ' I', ' shall', ' see', '.'], {
      usage,
      includeUsage: true,
      pace: () => pause((tokens / TOKENS_PER_SECOND / 8) * 1_000),
    });
    await answer(exchange);
  });
}

interface Stage extends Pick<Play, 'served' | 'refused' | 'falselyRefused' | 'longestWaitMs'> {
  members: readonly MemberProcess[];
  bill: { nanoUsd: number };
  /** What was billed at the first refusal. */
  atFirst?: number;
}

/** Sessions that grow by tool results, one after the other, until a small one is refused at once. */
async function work(stage: Stage, member: MemberProcess, agent: number): Promise<void> {
  const chance = chanceOf(SEED * 1_000 + agent);
  for (;;) {
    const messages = [{ role: 'user', content: textOf(chance, 20_000 + chance.int(40_000)) }];
    const target = 200_000 + chance.int(400_000);
    for (let bytes = 0; bytes < target; ) {
      const isServed = await ask(stage, member, messages);
      if (!isServed && messages.length === 1) return;
      if (!isServed) break;
      const result = textOf(chance, Math.min(30_000, logNormal(chance, 3_500, 1.3)));
      bytes += result.length;
      messages.push({ role: 'assistant', content: 'So I shall see.' }, { role: 'user', content: result });
    }
  }
}

/** One request, sent again if its daemon is killed, and after a pause if the budget is busy or the server away. */
async function ask(stage: Stage, member: MemberProcess, messages: object[]): Promise<boolean> {
  const body = { model: MODEL, messages, stream: true, max_tokens: 8_192 };
  for (;;) {
    const headers = { authorization: `Bearer ${member.home.key}` };
    const sentAt = performance.now();
    const reply = await request(`${member.daemon.url}/chat/completions`, { body, headers }).catch(
      () => undefined,
    );
    if (reply?.status === 200 && reply.complete) {
      stage.served++;
      return true;
    }
    if (!reply || reply.status === 200) {
      await pause(100);
      continue;
    }
    stage.longestWaitMs = Math.max(stage.longestWaitMs, performance.now() - sentAt);
    const { code, needed_usd: needed } = JSON.parse(String(reply.body)).error;
    expect(['budget_exceeded', 'budget_busy', 'team_unreachable']).toContain(code);
    stage.atFirst ??= stage.bill.nanoUsd;
    stage.refused++;
    if (Math.round(needed * 1e9) <= roomOf(stage)) stage.falselyRefused++;
    if (code === 'budget_exceeded') return false;
    await pause(Number(reply.header('retry-after') ?? 1) * 1_000);
  }
}

/** What one ledger for all would have left. */
function roomOf({ members }: Stage): number {
  return members.reduce((room, member) => {
    const { posted, held } = bookedBy(member);
    return room - posted - held;
  }, CAP_NANO_USD);
}

function textOf(chance: Chance, bytes: number): string {
  let text = '';
  while (text.length < bytes) text += `${chance.int(2 ** 30).toString(36)} `;
  return text;
}

function logNormal(chance: Chance, median: number, sigma: number): number {
  const uniform = () => (1 + chance.int(2 ** 30)) / (2 ** 30 + 1);
  const normal = Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  return median * Math.exp(sigma * normal);
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

test.skipIf(missing || !process.env.GW_LONG)(
  `agents on three and ten gateways use a $20 cap as far as on one (GW_SEED=${SEED})`,
  { timeout: 600_000 },
  async () => {
    for (const [gateways, agents] of [
      [3, 6],
      [10, 10],
    ] as const) {
      const alone = await play({ gateways: 1, agents, isTeam: false });
      const team = await play({ gateways, agents });
      expect(team.usedAtFirst).toBeGreaterThan(alone.usedAtFirst - 2);
      expect(team.usedAtEnd).toBeGreaterThan(95);
      expect(team.falselyRefused).toBe(0);
    }
  },
);

test.skipIf(missing || !process.env.GW_LONG)(
  `agents spend a $20 cap on five gateways while daemons and the server are killed (GW_SEED=${SEED})`,
  { timeout: 600_000 },
  async () => {
    const { bookedAtEnd, falselyRefused } = await play({ gateways: 5, agents: 10, kills: 12 });
    expect(bookedAtEnd).toBeGreaterThan(95);
    expect(falselyRefused).toBe(0);
  },
);
