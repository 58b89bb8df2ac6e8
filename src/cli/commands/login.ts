import { readSecrets } from '../../config/secrets.ts';
import { isLoopback } from '../../loopback.ts';
import { connectRemote } from '../../remote/client.ts';
import { deleteLogin, parseGatewayKey, parseGatewayUrl, saveLogin } from '../../remote/target.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, note, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { askHidden, canAsk, readSecret } from '../input/prompt.ts';
import { whoami } from '../remote/connection.ts';
import { networkOf } from '../settings.ts';

export const login: SetUp = (command, context) =>
  command
    .argument('<url>', 'such as https://gw.example.com')
    .option('--key-stdin', 'read the key from stdin instead of the terminal')
    .option(...AS_JSON)
    .addHelpText(
      'after',
      '\nThe key is stored in a file that only you can read. GW_URL and GW_KEY win over it.',
    )
    .action(async (text, { keyStdin = false, json }) => {
      const url = parseGatewayUrl(text, 'gw login:');
      const { protocol, hostname } = new URL(url);
      if (protocol === 'http:' && !isLoopback(hostname))
        note(context, `warning: ${url} is not https: the key and all prompts travel in clear text`);
      const key = parseGatewayKey(await readKey(context, url, keyStdin), 'the text');
      const { version, key: owned } = await whoami(
        connectRemote({ url, key }, { network: () => networkOf(context) }),
      );
      saveLogin(context.paths, { url, key });
      if (json) sayJson(context, { url, version, key: owned });
      const kind = owned.admin ? 'an admin key' : 'a key';
      note(
        context,
        `Logged in to ${url} (gw ${version}) with ${kind} of project ${owned.project_id}. Commands use this gw now; to end that: gw logout`,
      );
      if (context.env.GW_URL !== undefined)
        note(context, 'GW_URL is set in this shell, and wins: unset GW_URL');
    });

async function readKey(context: Context, url: string, keyStdin: boolean): Promise<string> {
  if (keyStdin) return readSecret(context);
  if (canAsk(context)) return askHidden(context, `Key for ${url} (not shown): `);
  throw usageError(`there is no terminal to ask for the key. Use: gw login ${url} --key-stdin < FILE`);
}

export const logout: SetUp = (command, context) =>
  command.action(() => {
    const { url } = readSecrets(context.paths.login);
    deleteLogin(context.paths);
    note(
      context,
      url === undefined
        ? 'You were not logged in.'
        : `Logged out of ${url}. Its key is still valid; to end that, on its machine: gw keys revoke ID`,
    );
    if (context.env.GW_URL) note(context, `GW_URL is still set to ${context.env.GW_URL}: unset GW_URL`);
  });
