import { newApiKey } from '../../ids.ts';
import { hashKey } from '../../store/accounts/callers.ts';
import type { TeamKey } from '../../team/authority.ts';
import { table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { readCount } from '../input/count.ts';
import { readDuration } from '../input/dates.ts';
import { type AdminOptions, noSuch, readId, withTeam } from './connection.ts';

export interface CreateKeyOptions extends AdminOptions {
  label: string;
  project: string;
  expires?: string;
  models?: string;
  rpm?: string;
}

const SEE = 'gw team keys';

/** Prints the key to stdout, only this once: the team stores its hash. */
export async function createKey(context: Context, options: CreateKeyOptions): Promise<void> {
  const { label, project, expires, json } = options;
  const key = newApiKey();
  const stored = {
    label,
    project,
    hash: hashKey(key).toString('hex'),
    hint: key.slice(-4),
    expiresAt: expires === undefined ? null : context.clock.now() + readDuration(expires, '--expires'),
    models: options.models?.split(',').map((model) => model.trim()) ?? null,
    rpm: options.rpm === undefined ? null : readCount(options.rpm, '--rpm', { min: 1, max: 10_000 }),
  };
  const id = await withTeam(context, options, (admin) => admin.createKey(stored));
  if (json) sayJson(context, { id, key, project_id: project, label });
  else say(context, key);
  note(
    context,
    `This key of the team is shown only once; its gateways know it within a minute. To revoke it: gw team keys revoke ${id}`,
  );
}

export async function listKeys(context: Context, options: AdminOptions): Promise<void> {
  const keys = await withTeam(context, options, (admin) => admin.keys());
  if (options.json) {
    sayJson(context, keys.map(keyView));
    return;
  }
  if (keys.length === 0) {
    note(context, 'The team has no keys. To create one: gw team keys create --label ci');
    return;
  }
  const lines = table(
    keys,
    [
      { header: 'id', value: ({ id }) => String(id), align: 'right' },
      { header: 'key', value: ({ hint }) => `sk-gw-...${hint}` },
      { header: 'project', value: ({ project }) => project, shrinks: true },
      { header: 'label', value: ({ label }) => label, shrinks: true },
      { header: 'state', value: (key) => stateOf(key, context.clock.now()) },
    ],
    { terminal: terminalOf(context.stdout, context.env) },
  );
  say(context, lines.join('\n'));
}

export async function revokeKey(context: Context, text: string, options: AdminOptions): Promise<void> {
  const id = readId(text, SEE);
  if (!(await withTeam(context, options, (admin) => admin.revokeKey(id)))) throw noSuch('live key', id, SEE);
  if (options.json) sayJson(context, { id, revoked: true });
  else note(context, `Revoked key ${id} of the team. Every gateway refuses it within a minute.`);
}

function stateOf({ revokedAt, expiresAt }: TeamKey, now: number): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'works';
}

function keyView({ id, hint, label, project, models, rpm, ...key }: TeamKey) {
  const iso = (time: number | null) => (time === null ? null : new Date(time).toISOString());
  return {
    ...{ id, hint, label, project_id: project, models, rpm },
    created_at: iso(key.createdAt),
    expires_at: iso(key.expiresAt),
    revoked_at: iso(key.revokedAt),
  };
}
