import { Pool } from 'undici';
import { formatRequestId } from '../../src/ids.ts';
import { createKey } from '../../src/store/accounts/keys.ts';
import type { LoggedRequest } from '../../src/store/requests/request-log.ts';
import { type Dice, diceOf } from '../fuzz/dice.ts';
import { atOnce } from '../fuzz/round.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { KINDS } from './bill.ts';
import {
  CASE_HEADER,
  type GenerousProvider,
  type ReadMore,
  startGenerousProvider,
} from './generous-provider.ts';
import { PRICES } from './price-list.ts';
import { makeRequest, type Sent } from './requests.ts';

/** A key, and what its requests may do. */
export interface Account {
  key: string;
  project: string;
  /** Of its project; undefined without a budget. */
  capUsd: number | undefined;
  /** Base names; undefined for a key that may use all. */
  models: ReadonlySet<string> | undefined;
}

/** What became of a case. */
export interface Outcome {
  account: Account;
  sent: Sent;
  status: number;
  /** gw's id of it. */
  id: string | undefined;
}

export interface Round {
  gateway: TestGateway;
  provider: GenerousProvider;
  accounts: Account[];
  /** By the number of the case. */
  outcomes: Map<number, Outcome>;
  /** The records by id. */
  records: Map<string, LoggedRequest>;
  /** Pass-through is allowed to cost what it will. */
  isUnmetered: boolean;
}

const ALLOWED = ['cheap', 'gpt-cheap', 'claude-cheap', 'free'];
/** A cap that no round reaches: it shows the holds of all that a budget lets through. */
const AMPLE_USD = 1_000_000;

export interface RoundOptions {
  dice: Dice;
  whenDone: (undo: () => Promise<void>) => void;
  readMore?: ReadMore;
}

export async function startRound({ dice, whenDone, readMore }: RoundOptions): Promise<Round> {
  const provider = await startGenerousProvider(readMore);
  whenDone(() => provider.close());
  const isAlone = dice.chance(0.3);
  const isUnmetered = dice.chance(0.2);
  const gateway = await startGateway({
    alone: true,
    price: null,
    credentials: Object.fromEntries(KINDS.map((kind) => [kind, `key-${kind}`])),
    settings: {
      providers: Object.fromEntries(KINDS.map((kind) => [kind, { baseUrl: provider.urls[kind] }])),
      'limits.client_idle_ms': 5_000,
      'admission.max_wait_ms': 20,
      attribution: 'off',
      ...(isUnmetered ? { 'passthrough.unmetered': 'allow' as const } : {}),
    },
    mayLog: /./,
    whenDone,
  });
  for (const kind of KINDS)
    for (const [model, { input, output }] of Object.entries(PRICES))
      await gateway.setPrice({
        provider: kind,
        model,
        inputPicoUsd: input * 1e6,
        outputPicoUsd: output * 1e6,
      });
  const accounts = await openAccounts(
    gateway,
    isAlone ? [dice.pick([0, 0.01, 1, AMPLE_USD])] : [0, 0.01, AMPLE_USD, undefined],
  );
  return { gateway, provider, accounts, outcomes: new Map(), records: new Map(), isUnmetered };
}

/** A project for each cap, with a key that may use all models and one that may not. */
async function openAccounts(gateway: TestGateway, caps: readonly (number | undefined)[]): Promise<Account[]> {
  const accounts: Account[] = [];
  for (const [i, capUsd] of caps.entries()) {
    const project = i === 0 ? gateway.project : await gateway.newProject(`p${i}`);
    if (capUsd !== undefined) await gateway.setBudget({ period: 'monthly', capUsd }, project);
    const open = { project: project.name, capUsd };
    accounts.push({ ...open, key: await gateway.newKey(project.name), models: undefined });
    const { key } = await createKey(gateway.db, { projectId: project.id, now: Date.now(), models: ALLOWED });
    accounts.push({ ...open, key, models: new Set(ALLOWED) });
  }
  return accounts;
}

const AT_ONCE = 32;

/** Sends the cases, and waits until all that they cost is booked. */
export async function runRound(round: Round, seed: number, cases: number[]): Promise<void> {
  const { gateway, accounts, outcomes } = round;
  const pool = new Pool(gateway.origin, { connections: AT_ONCE, pipelining: 1 });
  await atOnce(cases, AT_ONCE, async (each) => {
    const dice = diceOf(seed, each);
    const account = dice.pick(accounts);
    const sent = makeRequest(dice);
    const { status, id } = await send(pool, account, sent, each);
    outcomes.set(each, { account, sent, status, id });
  });
  await pool.close();
  for (const record of await gateway.settled(0)) round.records.set(formatRequestId(record.id), record);
}

async function send(pool: Pool, { key }: Account, { method, path, headers, body }: Sent, each: number) {
  const flat = [...headers, ['authorization', `Bearer ${key}`], [CASE_HEADER, `case-${each}`]].flat();
  try {
    const {
      statusCode,
      headers: answered,
      body: answer,
    } = await pool.request({
      method: method as 'POST',
      path,
      headers: flat,
      body: body.length === 0 ? null : body,
    });
    await answer.dump();
    return { status: statusCode, id: answered['x-service-request-id'] as string | undefined };
  } catch {
    // What the client itself doesn't send.
    return { status: 0, id: undefined };
  }
}
