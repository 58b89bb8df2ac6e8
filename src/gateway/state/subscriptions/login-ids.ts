import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { orElse } from '../../../errors.ts';
import { isObject } from '../../../json/object.ts';
import { readValue } from '../../../json/scan.ts';
import type { Login } from '../../../providers/subscriptions.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import type { WireRequest } from '../../../wire/request/wire-request.ts';

/** A login that gw passes on: whose it is, without its bytes. */
export interface KnownLogin {
  kind: Login;
  /** A hash of the account. */
  id: string;
}

type Body = Pick<WireRequest, 'bytes' | 'members'>;
export type IdentifyLogin = (kind: Login, headers: IncomingHttpHeaders, request: Body) => KnownLogin;

/** Tokens are renewed every few hours; old ones are forgotten. */
const MAX_TOKENS = 64;
const HASH_CHARACTERS = 10;

/**
 * Names logins by a hash of their account, which stays when a token is renewed. A request that names no account, as a
 * count of tokens, has the one that its token came with before.
 */
export function createLoginIds(): IdentifyLogin {
  const byToken = new Map<string, string>();
  return (kind, { authorization = '', 'chatgpt-account-id': account }, request) => {
    if (kind === 'chatgpt') return { kind, id: `${kind}-${hashOf(String(account))}` };
    const token = hashOf(authorization);
    const known = claudeAccount(request);
    if (known === '') return { kind, id: byToken.get(token) ?? `${kind}-${token}` };
    const id = `${kind}-${hashOf(known)}`;
    if (!byToken.has(token)) {
      const [oldest = ''] = byToken.keys();
      if (byToken.size >= MAX_TOKENS) byToken.delete(oldest);
      byToken.set(token, id);
    }
    return { kind, id };
  };
}

const hashOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARACTERS);

const MAX_FIELD_BYTES = 2_048;
const OLD_ACCOUNT = /_account_([0-9a-f-]{36})_session_/;

/** The account in Claude Code's `metadata.user_id`: a JSON object, or in old versions `user_..._account_ID_session_...`. */
function claudeAccount({ bytes, members }: Body): string {
  const member = members.find(({ key }) => key === 'metadata');
  if (!member || member.end - member.start > MAX_FIELD_BYTES) return '';
  const metadata = orElse(() => readValue(bytes, member), undefined);
  const userId = isObject(metadata) ? metadata.user_id : undefined;
  if (typeof userId !== 'string') return '';
  const account = userId.startsWith('{') ? parseObject(userId)?.account_uuid : OLD_ACCOUNT.exec(userId)?.[1];
  return typeof account === 'string' ? account : '';
}
