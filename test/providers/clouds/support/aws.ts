import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AwsV4Signer } from 'aws4fetch';
import type { RecordedRequest } from '../../../support/exchange.ts';
import { json, type Script } from '../../../support/scripts.ts';
import { tmpHome } from '../../../support/tmp-home.ts';
import { headerIn, setEnv } from './clouds.ts';

interface Identity {
  id: string;
  secret: string;
  token: string;
}

/** AWS's answer to credentials that are over, by https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html */
export const expired = json(
  403,
  { message: 'The security token included in the request is expired' },
  { 'x-amzn-errortype': 'ExpiredTokenException:http://internal.amazon.com/coral/com.amazon.coral.service/' },
);

/** A profile of AWS whose credentials come from a program, and may change or end. */
export function awsProfile(name: string) {
  const folder = tmpHome();
  const output = join(folder, 'credentials.json');
  const fetched = join(folder, 'fetched');
  writeFileSync(fetched, '');
  const write = ({ id, secret, token }: Identity, expiration?: string) =>
    writeFileSync(
      output,
      JSON.stringify({
        ...{ Version: 1, AccessKeyId: id, SecretAccessKey: secret, SessionToken: token },
        ...(expiration ? { Expiration: expiration } : {}),
      }),
    );
  const program = join(folder, 'program.sh');
  writeFileSync(program, `echo >> ${fetched}\ncat ${output}\n`);
  writeFileSync(join(folder, 'config'), `[profile ${name}]\ncredential_process = sh ${program}\n`);
  setEnv({
    AWS_CONFIG_FILE: join(folder, 'config'),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'none'),
    AWS_EC2_METADATA_DISABLED: 'true',
  });
  return {
    write,
    remove: () => rmSync(output),
    /** How often the credentials were fetched. */
    fetches: () => readFileSync(fetched, 'utf8').length,
  };
}

/** Whether a request is signed by an identity: computed anew from what arrived, by another implementation. */
export async function isSignedBy(
  request: RecordedRequest,
  { id, secret, token }: Identity,
  scope: { region: string; service: string },
): Promise<boolean> {
  const authorization = headerIn(request, 'authorization') ?? '';
  const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(';') ?? [];
  const hash = createHash('sha256').update(request.body).digest('hex');
  if (headerIn(request, 'x-amz-content-sha256') !== hash) return false;
  if (headerIn(request, 'x-amz-security-token') !== token) return false;
  const present = request.head.headers.map(([name]) => name.toLowerCase());
  if (present.some((name) => name.startsWith('x-amz-') && !names.includes(name))) return false;
  const signer = new AwsV4Signer({
    ...scope,
    method: request.method,
    url: `http://${headerIn(request, 'host')}${request.path}`,
    headers: Object.fromEntries(
      names
        .filter((name) => name !== 'host' && name !== 'x-amz-date')
        .map((name) => [name, headerIn(request, name) ?? '']),
    ),
    body: request.body,
    accessKeyId: id,
    secretAccessKey: secret,
    datetime: headerIn(request, 'x-amz-date') ?? '',
    allHeaders: true,
  });
  return (await signer.sign()).headers.get('authorization') === authorization;
}

/** Answers only requests that are signed by the identity of the moment. */
export function signedOnly(
  identity: () => Identity,
  scope: { region: string; service: string },
  script: Script,
): Script {
  return async (exchange) => {
    await exchange.body;
    const isGood = await isSignedBy(exchange.request, identity(), scope);
    await (isGood ? script : expired)(exchange);
  };
}
