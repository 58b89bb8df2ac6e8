import type { Agent } from '../../agents/agent.ts';
import type { Connecting, Endpoint } from '../../agents/connect/connecting.ts';
import {
  type Connection,
  type FileRecord,
  type ProofRecord,
  readConnections,
  saveConnection,
} from '../../agents/settings/connections.ts';
import {
  acceptFile,
  type FileEdit,
  type PlannedEdit,
  planEdit,
  prepareEdit,
  writeEdit,
} from '../../agents/settings/edit-file.ts';
import { FileChanged, readBytes } from '../../agents/settings/replace-file.ts';
import { shellQuoted } from '../../shell-quoted.ts';
import { createKey } from '../../store/accounts/keys.ts';
import { DEFAULT_PROJECT, findProject } from '../../store/accounts/projects.ts';
import { type Context, note, say } from '../context.ts';
import { expectedOrigin } from '../daemon/find.ts';
import { startDaemon } from '../daemon/start.ts';
import { CliError, EXIT, Exit, usageError } from '../exit.ts';
import { canAsk, confirm } from '../input/prompt.ts';
import { findProgram } from '../invocation.ts';
import { withStore } from '../with-store.ts';
import { checkSubscription, connectingOf, editing, endpointOf, modelFor } from './agents.ts';
import { revoke, undoAll } from './disconnect-agent.ts';
import { type ProofResult, prove } from './proof.ts';
import { diffLines, shortPath } from './view.ts';

interface ConnectOptions {
  model?: string;
  yes?: boolean;
  subscription?: boolean;
  proof: boolean;
  statusline?: boolean;
  json?: boolean;
}

/** Stands for the key in the diff: it is made when the diff is accepted. */
const KEY_IN_DIFF = 'sk-gw-...';
const NOT_RUN: ProofRecord = { state: 'not_run', request_id: null, went_to: null };
const MAX_TRIES = 5;

/** Points an agent's own settings at gw, and proves it with one request. */
export async function connectAgent(context: Context, agent: Agent, options: ConnectOptions): Promise<void> {
  const connecting = connectingOf(agent);
  const { subscription = false } = options;
  const model = modelFor(context, agent, options.model);
  if (subscription) checkSubscription(context, agent);
  const origin = await expectedOrigin(context);
  if (options.statusline && agent.name !== 'claude')
    throw usageError(`gw can't set the status line of ${agent.title}. Its command would be: gw statusline`);
  const statusLine = options.statusline ? `${shellQuoted(context.program)} statusline` : undefined;
  const preview = endpointOf(context, { origin, key: KEY_IN_DIFF, model, subscription, statusLine });
  const earlier = readConnections(context.paths.connections)[agent.name]?.files;
  const shown = planAll(connecting.edits(preview), earlier);
  await confirmEdits(context, agent, {
    options,
    plans: shown,
    notes: [...(connecting.notes?.(preview) ?? []), ...proxyNotes(context)],
  });
  const program = options.proof ? findProgram(agent.binaries, context.env) : undefined;
  if (program !== undefined) await requireOrigin(context, origin);
  const { id, key } = await newKey(context, agent);
  const connection = await write(context, {
    agent,
    connecting,
    endpoint: { ...preview, key },
    keyId: id,
    shown,
    options,
  });
  if (program === undefined || agent.proof === undefined) {
    const why = options.proof ? `${agent.binaries.join(' or ')} is not on the PATH` : '--no-proof';
    note(context, `${agent.title} is connected, not proven (${why}).`);
  } else {
    note(context, `Running one request of ${agent.title}...`);
    // A model of the sandbox is gw's own: the proof does not use up the subscription.
    const { model: asked, env } = connecting.proof?.(subscription ? undefined : model) ?? {};
    const result = await prove(context, {
      program,
      args: agent.proof.args(asked),
      env: { ...agent.proof.env, ...env },
      origin,
      keyId: id,
    });
    if (result.state === 'bypassed') await giveUp(context, agent, { connection, result });
    else await keep(context, agent, { connection, requestId: result.requestId });
  }
  note(
    context,
    `While gw is down, ${agent.title} gets no answers. Keep it running, or: gw disconnect ${agent.name}`,
  );
}

/** The proof doesn't show this: it runs with a proxy of its own. */
function proxyNotes({ env }: Context): string[] {
  const name = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'].find((each) => env[each]);
  const exceptions = `${env.NO_PROXY ?? ''},${env.no_proxy ?? ''}`.split(',').map((each) => each.trim());
  if (name === undefined || exceptions.includes('localhost') || exceptions.includes('*')) return [];
  return [
    `${name} is set, and agents may ask that proxy for gw. To except this machine: export NO_PROXY=localhost,127.0.0.1`,
  ];
}

async function requireOrigin(context: Context, origin: string): Promise<void> {
  const { daemon } = await startDaemon(context);
  if (daemon.origin !== origin)
    throw new CliError(`gw started on ${daemon.origin} instead of ${origin}; nothing was changed. Try again`);
}

function planAll(edits: readonly FileEdit[], earlier: readonly FileRecord[] = []): PlannedEdit[] {
  return edits.map((edit) =>
    editing(edit.path, () =>
      planEdit(
        edit,
        earlier.find(({ path }) => path === edit.path),
      ),
    ),
  );
}

async function confirmEdits(
  context: Context,
  { name }: Agent,
  {
    options,
    plans,
    notes,
  }: { options: ConnectOptions; plans: readonly PlannedEdit[]; notes: readonly string[] },
): Promise<void> {
  const lines = await diffLines(context, plans);
  if (options.json) note(context, lines.join('\n'));
  else say(context, lines.join('\n'));
  for (const text of notes) note(context, `note: ${text}`);
  if (options.yes) return;
  if (!canAsk(context)) {
    const model = options.model === undefined ? '' : ` --model ${options.model}`;
    const login = options.subscription ? ' --subscription' : '';
    throw usageError(`nothing was changed. To write this: gw connect ${name}${model}${login} --yes`);
  }
  await confirm(context, 'Write these changes? [y/N] ');
}

function newKey(context: Context, { name }: Agent) {
  return withStore(context, (db) =>
    createKey(db, {
      projectId: findProject(db, DEFAULT_PROJECT),
      label: `connect:${name}`,
      now: context.clock.now(),
    }),
  );
}

interface Writing {
  agent: Agent;
  connecting: Connecting;
  endpoint: Endpoint;
  keyId: number;
  /** What was accepted. */
  shown: readonly PlannedEdit[];
  options: ConnectOptions;
}

/** Writes the files. The record of how to undo it is on disk before the first one changes. */
async function write(context: Context, writing: Writing): Promise<Connection> {
  const { agent, connecting, endpoint, keyId, shown, options } = writing;
  const { connections } = context.paths;
  const isAsShown = shown.every(({ path, current }) => sameBytes(readBytes(path), current));
  const earlier = readConnections(connections)[agent.name];
  for (let tries = 1; ; tries++) {
    let connection: Connection | undefined;
    try {
      if (!isAsShown && !options.yes) throw new FileChanged('a file was changed while the diff was shown');
      if (earlier) {
        undoAll(earlier);
        await revoke(context, earlier);
      }
      const plans = planAll(connecting.edits(endpoint));
      connection = {
        key_id: keyId,
        connected_at: new Date(context.clock.now()).toISOString(),
        proof: NOT_RUN,
        files: plans.map(prepareEdit),
      };
      await saveConnection(connections, agent.name, connection);
      for (const each of plans) writeEdit(each);
      return connection;
    } catch (error) {
      if (connection) undoAll(connection);
      if (error instanceof FileChanged && options.yes && tries < MAX_TRIES) continue;
      await forget(context, agent, keyId);
      if (error instanceof FileChanged)
        throw new CliError(`${error.message}; nothing was changed. Run it again: gw connect ${agent.name}`);
      throw error;
    }
  }
}

async function forget(context: Context, agent: Agent, keyId: number): Promise<void> {
  await saveConnection(context.paths.connections, agent.name, undefined);
  await revoke(context, { key_id: keyId });
}

interface Proven {
  connection: Connection;
  requestId: string;
}

async function keep(context: Context, agent: Agent, { connection, requestId }: Proven): Promise<void> {
  await saveConnection(context.paths.connections, agent.name, {
    ...connection,
    proof: { state: 'covered', request_id: requestId, went_to: null },
    files: connection.files.map(acceptFile),
  });
  note(context, `${agent.title} is connected: its request came through gw. See: gw requests ${requestId}`);
}

async function giveUp(
  context: Context,
  agent: Agent,
  { connection, result }: { connection: Connection; result: Extract<ProofResult, { state: 'bypassed' }> },
): Promise<never> {
  undoAll({ files: connection.files.map(acceptFile) });
  await forget(context, agent, connection.key_id ?? 0);
  if (result.output !== '') note(context, result.output);
  const { wentTo, hosts } = result;
  const files = connection.files.map(({ path }) => shortPath(context, path)).join(' and ');
  note(
    context,
    wentTo === undefined
      ? `gw: ${agent.title} made no request with its key that gw saw${hosts.length > 0 ? `; it asked ${hosts.join(', ')}` : ''}. ${files} is as it was before`
      : `gw: ${agent.title} asked ${wentTo} instead of gw. ${files} is as it was before. Use: gw run -- ${agent.binaries[0]}`,
  );
  throw new Exit(EXIT.failure);
}

function sameBytes(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b);
}
