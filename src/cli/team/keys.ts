import { systemTimezone } from '../../calendar.ts';
import { newApiKey } from '../../ids.ts';
import { checkLimits, hashKey } from '../../store/accounts/keys.ts';
import { DEFAULT_PROJECT, isProjectName } from '../../store/accounts/projects.ts';
import type { TeamKey } from '../../team/authority.ts';
import { right } from '../../terminal/table.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { type SetUp, UNASKED } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { confirmLoss } from '../input/prompt.ts';
import { readCount, readDuration } from '../input/values.ts';
import { printList } from '../print-list.ts';
import { type AdminOptions, addAdminOptions, noSuch, readId, withTeam } from './connection.ts';

const SEE = 'gw team keys';

export const addKeyCommands: SetUp = (command, context) => {
  addAdminOptions(
    command.command('list', { isDefault: true }).description('list the keys, without their secrets'),
  )
    .option('--all', 'include revoked keys')
    .action((options) => list(context, options));
  create(command, context);
  addAdminOptions(
    command.command('revoke').description('revoke a key: every gateway refuses it within a minute'),
  )
    .argument('<id>')
    .option(...UNASKED)
    .action(async (text, options) => {
      const id = readId(text, SEE);
      const loss = `This ends key ${id} of the team on all its gateways for good: programs that use it get a 401.`;
      await confirmLoss(context, loss, { yes: options.yes, scripted: true });
      if (!(await withTeam(context, options, (admin) => admin.revokeKey(id))))
        throw noSuch('live key', id, SEE);
      if (options.json) sayJson(context, { id, revoked: true });
      else
        note(
          context,
          `Revoked key ${id} of the team. Every gateway that reaches the team's PostgreSQL refuses it within a minute.`,
        );
    });
};

async function list(context: Context, { all = false, ...options }: AdminOptions & { all?: boolean }) {
  const everyKey = await withTeam(context, options, (admin) => admin.keys());
  const keys = everyKey.filter(({ revokedAt }) => all || revokedAt === null);
  const now = context.clock.now();
  const times = createTimeFormat(systemTimezone());
  printList(
    context,
    keys,
    [
      right('id', ({ id }) => String(id)),
      { header: 'key', value: ({ hint }) => `sk-gw-...${hint}` },
      { header: 'project', value: ({ project }) => project, shrinks: true },
      { header: 'label', value: ({ label }) => label, shrinks: true },
      { header: 'until', value: (key) => endOf(key, (time) => times.moment(time, now), now) },
      { header: '', value: limitsOf, wraps: true },
    ],
    {
      json: options.json,
      data: keys.map(keyView),
      empty: 'The team has no keys. To create one: gw team keys create',
    },
  );
}

/** Prints the key to stdout, only this once: the team stores its hash. */
const create: SetUp = (command, context) =>
  addAdminOptions(command.command('create').description('create a key and print it; it is shown only once'))
    .option('-p, --project <name>', 'project to charge (default: default)')
    .option('--label <text>', 'label to tell it from other keys')
    .option('--expires <time>', 'how long it works, such as 30d')
    .option('--models <names>', 'the only models that it may use: gpt-4.1-mini,claude-*')
    .option('--rpm <count>', 'how many requests it may make in a minute, at each gateway')
    .action(async ({ label = '', project = DEFAULT_PROJECT, expires, models, rpm, ...options }) => {
      if (!isProjectName(project)) throw usageError(`"${project}" is no project name`);
      const key = newApiKey();
      const now = context.clock.now();
      const stored = {
        label,
        project,
        hash: hashKey(key).toString('hex'),
        hint: key.slice(-4),
        expiresAt: expires === undefined ? null : now + readDuration(expires, '--expires'),
        models: models?.split(',').map((model) => model.trim()) ?? null,
        rpm: rpm === undefined ? null : readCount(rpm, '--rpm', { min: 1, max: 10_000 }),
      };
      checkLimits(stored, now);
      const id = await withTeam(context, options, (admin) => admin.createKey(stored));
      const createdAt = context.clock.now();
      if (options.json) sayJson(context, { ...keyView({ ...stored, id, createdAt, revokedAt: null }), key });
      else say(context, key);
      note(
        context,
        `This key of the team for project ${project} is shown only once. Every gateway that runs knows it within a minute. To revoke it: gw team keys revoke ${id}`,
      );
    });

function endOf({ revokedAt, expiresAt }: TeamKey, at: (time: number) => string, now: number): string {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt === null) return '';
  return expiresAt <= now ? 'expired' : at(expiresAt);
}

const limitsOf = ({ models, rpm }: TeamKey): string =>
  [rpm === null ? '' : `${rpm}/min`, models?.join(', ')].filter(Boolean).join('  ');

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
