import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { badRequest } from '../errors.ts';
import type { Caller } from '../store/accounts/callers.ts';
import { createKey, listKeys, revokeKey } from '../store/accounts/keys.ts';
import { findProject } from '../store/accounts/projects.ts';
import type { Db } from '../store/database/open.ts';
import type { Ledger } from '../store/ledger/ledger.ts';
import { VERSION } from '../version.ts';
import { mustBeAdmin } from './must-be-admin.ts';
import { readJson } from './read-json.ts';

export interface KeysContext {
  db: Db;
  ledger: Pick<Ledger, 'write'>;
  now: number;
}

const Body = z.strictObject({
  project_id: z.string().optional(),
  admin: z.boolean().default(false),
  label: z.string().max(200).nullable().default(null),
});

/** `GET /v1/gw/whoami`: the gw that answers, and the key that asks. */
export async function whoamiEndpoint({ keyId, projectId }: Caller, db: Db) {
  const key = (await listKeys(db, projectId)).find(({ id }) => id === keyId);
  if (!key) throw new Error(`key ${keyId} vanished`);
  const { id, project, hint, admin, label } = key;
  return { object: 'whoami', version: VERSION, key: { id, project_id: project, hint, admin, label } };
}

/** `POST /v1/gw/keys`: makes a key and returns it, only this once. Needs an admin key. Throws GwError 400, 403, 404. */
export async function createKeyEndpoint(
  caller: Caller,
  request: IncomingMessage,
  { db, ledger, now }: KeysContext,
) {
  mustBeAdmin(caller, 'making keys', 'gw keys create');
  const { project_id = caller.project, admin, label } = parse(await readJson(request));
  const projectId = findProject(db, project_id);
  await waitForTurn(ledger);
  const { id, key } = await createKey(db, { projectId, admin, label, now });
  return { id, key, project_id, admin };
}

/** `DELETE /v1/gw/keys/{id}`. Needs an admin key. Throws GwError 403 and 404. */
export async function revokeKeyEndpoint(caller: Caller, text: string, { db, ledger, now }: KeysContext) {
  mustBeAdmin(caller, 'revoking keys', 'gw keys revoke ID');
  const id = Number(text);
  await waitForTurn(ledger);
  await revokeKey(db, id, now);
  return { object: 'key.revoked', id, revoked: true };
}

/** Waits until the ledger may write, as keys change in a transaction of their own. */
async function waitForTurn(ledger: Pick<Ledger, 'write'>): Promise<void> {
  await ledger.write(() => {});
}

function parse(value: unknown): z.infer<typeof Body> {
  const result = Body.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.code === 'unrecognized_keys' ? (issue.keys[0] ?? '') : (issue?.path.join('.') ?? '');
  if (field === '') throw badRequest('the request body must be a JSON object such as {"project_id":"web"}');
  throw badRequest(`"${field}": ${issue?.message ?? 'invalid value'}`, field);
}
