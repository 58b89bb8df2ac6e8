import { systemTimezone } from '../../calendar.ts';
import { newApiKey } from '../../ids.ts';
import { checkLimits, hashKey } from '../../store/accounts/keys.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { isProjectName } from '../../store/accounts/projects.ts';
import type { TeamKey } from '../../team/authority.ts';
import { table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { confirmLoss, type Unasked } from '../input/confirm.ts';
import { readCount } from '../input/count.ts';
import { readDuration } from '../input/dates.ts';
import { type AdminOptions, noSuch, readId, withTeam } from './connection.ts';

export interface CreateKeyOptions extends AdminOptions {
  label?: string;
  project?: string;
  expires?: string;
  models?: string;
  rpm?: string;
}

export interface ListKeysOptions extends AdminOptions {
  all?: boolean;
}

export interface RevokeKeyOptions extends AdminOptions, Unasked {}

const SEE = 'gw team keys';

/** Prints the key to stdout, only this once: the team stores its hash. */
export async function createKey(context: Context, options: CreateKeyOptions): Promise<void> {
  const { label = '', project = DEFAULT_PROJECT, expires, json } = options;
  if (!isProjectName(project)) throw usageError(`"${project}" is no project name`);
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
  checkLimits(stored, context.clock.now());
  const id = await withTeam(context, options, (admin) => admin.createKey(stored));
  if (json)
    sayJson(context, { ...keyView({ ...stored, id, createdAt: context.clock.now(), revokedAt: null }), key });
  else say(context, key);
  note(
    context,
    `This key of the team for project ${project} is shown only once. Every gateway that runs knows it within a minute. To revoke it: gw team keys revoke ${id}`,
  );
}

export async function listKeys(context: Context, options: ListKeysOptions): Promise<void> {
  const all = await withTeam(context, options, (admin) => admin.keys());
  const keys = all.filter(({ revokedAt }) => options.all || revokedAt === null);
  if (options.json) {
    sayJson(context, keys.map(keyView));
    return;
  }
  if (keys.length === 0) {
    note(context, 'The team has no keys. To create one: gw team keys create');
    return;
  }
  const now = context.clock.now();
  const times = createTimeFormat(systemTimezone());
  const lines = table(
    keys,
    [
      { header: 'id', value: ({ id }) => String(id), align: 'right' },
      { header: 'key', value: ({ hint }) => `sk-gw-...${hint}` },
      { header: 'project', value: ({ project }) => project, shrinks: true },
      { header: 'label', value: ({ label }) => label, shrinks: true },
      { header: 'until', value: (key) => endOf(key, (time) => times.moment(time, now), now) },
      { header: '', value: limitsOf, shrinks: true },
    ],
    { terminal: terminalOf(context.stdout, context.env) },
  );
  say(context, lines.join('\n'));
}

export async function revokeKey(context: Context, text: string, options: RevokeKeyOptions): Promise<void> {
  const id = readId(text, SEE);
  const loss = `This ends key ${id} of the team on all its gateways for good: programs that use it get a 401.`;
  await confirmLoss(context, loss, { yes: options.yes, scripted: true });
  if (!(await withTeam(context, options, (admin) => admin.revokeKey(id)))) throw noSuch('live key', id, SEE);
  if (options.json) sayJson(context, { id, revoked: true });
  else
    note(
      context,
      `Revoked key ${id} of the team. Every gateway that reaches the team's PostgreSQL refuses it within a minute.`,
    );
}

function endOf({ revokedAt, expiresAt }: TeamKey, at: (time: number) => string, now: number): string {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt === null) return '';
  return expiresAt <= now ? 'expired' : at(expiresAt);
}

const limitsOf = ({ models, rpm }: TeamKey): string =>
  [rpm === null ? '' : `${rpm}/min`, models?.join(',')].filter(Boolean).join('  ');

function keyView({ id, hint, label, project, models, rpm, ...key }: Omit<TeamKey, 'hash'>) {
  const iso = (time: number | null) => (time === null ? null : new Date(time).toISOString());
  return {
    ...{ id, project_id: project, hint, label: label || null },
    created_at: iso(key.createdAt),
    revoked_at: iso(key.revokedAt),
    expires_at: iso(key.expiresAt),
    ...{ models, rpm },
  };
}
