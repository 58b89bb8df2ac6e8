import { spawn } from 'node:child_process';
import { GwError } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import { cliAdminKey } from '../client/cli-keys.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say } from '../context.ts';
import { requireDaemon } from '../daemon/find.ts';
import { askLocal } from '../daemon/http.ts';
import { remoteOf } from '../remote/connection.ts';
import { withStore } from '../with-store.ts';

const TIMEOUT_MS = 5_000;
/** After that, a command that runs has not failed. */
const RUNNING_MS = 1_000;

export const open: SetUp = (command, context) =>
  command
    .option('--print', 'print the address instead of opening it')
    .addHelpText('after', '\nThe address signs in one browser, within a minute.')
    .action(async ({ print = false }) => {
      const address = await addressOfPage(context);
      if (!print && hasScreen(context) && (await openBrowser(context, address))) {
        note(context, 'The page is open in your browser.');
        return;
      }
      say(context, address);
      if (!print) note(context, 'Open this address in a browser within a minute. It works once.');
    });

/** A link with the rights of the key to the remote gw, or on this machine, whose database is the user's, with all. */
async function addressOfPage(context: Context): Promise<string> {
  const remote = remoteOf(context);
  if (remote) return `${remote.gateway.url}${pathIn(await remote.ask({ method: 'POST', path: '/login' }))}`;
  const { local, origin } = await requireDaemon(context);
  const key = await withStore(context, (db) => cliAdminKey(context, db));
  const headers = { authorization: `Bearer ${key}` };
  const { body } = await askLocal(`${local}/login`, {
    headers,
    timeoutMs: TIMEOUT_MS,
    body: Buffer.alloc(0),
  });
  return `${origin}${pathIn(body)}`;
}

/** The path of a link. Throws GwError for a refusal. */
function pathIn(answer: unknown): string {
  const { path, error } = isObject(answer) ? answer : {};
  if (typeof path === 'string') return path;
  const { message } = isObject(error) ? error : {};
  throw new GwError(typeof message === 'string' ? message : 'gw gave no link to its page. See: gw logs', {
    status: 502,
    type: 'api_error',
    code: 'page_unavailable',
  });
}

/** Whether a browser that opens here is before the user: not over ssh, and with a display on Linux. */
function hasScreen({ env, stdout }: Context): boolean {
  if (env.SSH_CONNECTION || env.SSH_TTY || !stdout.isTTY) return false;
  return process.platform !== 'linux' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}

/** Opens the user's browser. Resolves to whether its command succeeded, or still runs, as some browsers' do. */
async function openBrowser({ env }: Context, address: string): Promise<boolean> {
  const [command = '', ...args] = browserCommand(address);
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, stdio: 'ignore', detached: true });
    const settle = (opened: boolean) => {
      clearTimeout(timer);
      resolve(opened);
    };
    const timer = setTimeout(settle, RUNNING_MS, true);
    child.on('error', () => settle(false));
    child.on('exit', (code) => settle(code === 0));
    child.unref();
  });
}

function browserCommand(address: string): string[] {
  if (process.platform === 'darwin') return ['open', address];
  // `start` would read the first quoted argument as a title.
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', address];
  return ['xdg-open', address];
}
