import { applyEdits, insertMember, removeMember } from '../../json/edit.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { cliKeyOf } from '../client/cli-keys.ts';
import type { Context } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { askLocal } from '../daemon/http.ts';
import type { RequestFile } from '../input/request-file.ts';
import { withStore } from '../with-store.ts';

/** The daemon's plan for a request: its answer to `service.explain`. */
export interface Plan {
  route: string;
  tier: {
    chosen: string;
    applied: boolean;
    score: number;
    threshold: number | null;
    by: string;
    lacks?: string;
  } | null;
  targets: {
    provider: string;
    model: string;
    state: 'next' | 'left_alone' | 'passed_over';
    because?: string;
    wait_ms?: number;
    worst_case_usd?: number;
  }[];
  saved_tokens: number;
  budget: {
    name: string;
    room_usd: number;
    needs_usd: number;
    outcome: string;
    need?: Record<string, unknown>;
    cheaper?: { budget: string; from_percent: number; goes: boolean; models: string[] }[];
  } | null;
}

/** A request that gw would refuse. */
export interface Refused {
  refused: string;
}

const PATHS = {
  chat: () => '/v1/chat/completions',
  responses: () => '/v1/responses',
  messages: () => '/v1/messages',
  gemini: (model: string) => `/v1beta/models/${model}:generateContent`,
};
/** Long, because compressing a long prompt takes time. */
const TIMEOUT_MS = 30_000;

/** Asks the daemon, which sends nothing. Undefined if none runs or the file names no model. */
export async function planFor(
  context: Context,
  file: RequestFile,
  project: string,
): Promise<Plan | Refused | undefined> {
  const { bytes, form, model } = file;
  if (model === undefined) return undefined;
  const state = await findDaemon(context);
  if (state.kind !== 'running') return undefined;
  const key = await withStore(context, (db) => cliKeyOf(context, db, project));
  const { status, body } = await askLocal(`${state.daemon.local}${PATHS[form](model)}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: withExplain(bytes, form === 'gemini' ? undefined : model),
    timeoutMs: TIMEOUT_MS,
  });
  if (status === 200) return body as Plan;
  const message = (body as { error?: { message?: unknown } } | undefined)?.error?.message;
  return { refused: `${status}: ${String(message ?? 'see gw logs')}` };
}

/** The same body with `service.explain` set, so that nothing is sent, and with the model where it names none. */
function withExplain(bytes: Buffer, model: string | undefined): Buffer {
  const members = scanObject(bytes);
  const isNamed = model === undefined || members.some(({ key }) => key === 'model');
  const service = members.findLast(({ key }) => key === 'service');
  const options = service ? readValue(bytes, service) : {};
  const json = JSON.stringify({ ...(options as object), explain: true });
  const edits = service ? [removeMember(members, service)] : [];
  if (!isNamed) edits.push(insertMember(members, 'model', JSON.stringify(model)));
  return applyEdits(bytes, [...edits, insertMember(members, 'service', json)]);
}
