import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newWebhookSecret, signatureHeaders } from '../../src/webhooks/sign.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const TIMESTAMP = 1614265330;
const BODY = '{"test": 2432232314}';

const { webhooks } = new Stripe('sk_test_none');

function sign(body: string, changes: { secrets?: string[]; id?: string; timestamp?: number } = {}) {
  const defaults = { id: ID, timestamp: TIMESTAMP, secrets: [SECRET] };
  return signatureHeaders({ ...defaults, ...changes, body: Buffer.from(body) });
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: TIMESTAMP * 1000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('signatureHeaders()', () => {
  it.each([
    ['the example of Standard Webhooks', BODY, {}, 'g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='],
    [
      'another secret',
      '{"email":"test@example.com","username":"test_user"}',
      {
        secrets: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
        id: 'msg_27UH4WbU6Z5A5EzD8u03UvzRbpk',
        timestamp: 1649367553,
      },
      'tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=',
    ],
    ['an empty body', '', {}, 'v48jdbgvh29KJz2Qc+ghw8G6vG3nAKnujWBg8oM/62A='],
    ['a body that is no ASCII', 'ü', {}, 'iW7B8Yj5omq55rd3lXf5Zvof3Pkqn4++p/HJy2c+LM0='],
  ])('makes the known Standard Webhooks signature of %s', (_name, body, changes, expected) => {
    expect(sign(body, changes)['webhook-signature']).toBe(`v1,${expected}`);
  });

  it('makes the known signature of the other family, with the whole secret as its key', () => {
    const known = '2e37df5d4a028c51a7f3133d64ae1e300d2c2c900f1b1d49d4369ad2530f8964';
    expect(sign(BODY)['x-service-signature']).toBe(`t=${TIMESTAMP},v1=${known}`);
  });

  it('is accepted by the standardwebhooks and the stripe library', () => {
    const headers = sign(BODY);
    expect(new Webhook(SECRET).verify(BODY, headers)).toEqual({ test: 2432232314 });
    expect(webhooks.constructEvent(BODY, headers['x-service-signature'] ?? '', SECRET)).toEqual({
      test: 2432232314,
    });
  });

  it('is accepted under either secret while one is rotated, and under no third', () => {
    const [old, fresh, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
    const headers = sign(BODY, { secrets: [fresh, old] });
    for (const secret of [fresh, old]) {
      expect(accepts({ body: BODY, headers, secret })).toEqual({ standard: true, service: true });
    }
    expect(accepts({ body: BODY, headers, secret: other })).toEqual({ standard: false, service: false });
  });

  it('holds for 300 seconds, and no longer', () => {
    const at = (seconds: number) => {
      vi.setSystemTime((TIMESTAMP + seconds) * 1000);
      return accepts({ body: BODY, headers: sign(BODY), secret: SECRET });
    };
    expect(at(300)).toEqual({ standard: true, service: true });
    expect(at(301)).toEqual({ standard: false, service: false });
    expect(at(-300).standard).toBe(true);
    expect(at(-301).standard).toBe(false);
  });

  it('fails to verify after any mutation', () => {
    const headers = sign(BODY);
    const targets = ['body', 'id', 'timestamp', 'signature', 'secret'] as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...targets),
        fc.nat(),
        fc.integer({ min: 1, max: 61 }),
        (target, at, by) => {
          const verdict = accepts(mutated(headers, target, at, by));
          const untouched = target === 'id' ? { service: true } : {};
          expect(verdict).toEqual({ standard: false, service: false, ...untouched });
        },
      ),
      { numRuns: process.env.GW_LONG ? 10_000 : 2_000, seed: 20260512 },
    );
  }, 60_000);
});

interface Message {
  body: string;
  headers: Record<string, string>;
  secret: string;
}

function accepts({ body, headers, secret }: Message): { standard: boolean; service: boolean } {
  const holds = (verify: () => unknown) => {
    try {
      verify();
      return true;
    } catch {
      return false;
    }
  };
  return {
    standard: holds(() => new Webhook(secret).verify(body, headers)),
    service: holds(() => webhooks.constructEvent(body, headers['x-service-signature'] ?? '', secret)),
  };
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** One character of one part replaced by another of its kind. The id is not signed in the `t=` family. */
function mutated(headers: Record<string, string>, target: string, at: number, by: number): Message {
  const message: Message = { body: BODY, headers: { ...headers }, secret: SECRET };
  const standard = headers['webhook-signature'] ?? '';
  const service = headers['x-service-signature'] ?? '';
  switch (target) {
    case 'body':
      message.body = replaced(BODY, at % BODY.length, by);
      break;
    case 'id':
      message.headers['webhook-id'] = replaced(ID, at % ID.length, by);
      break;
    case 'timestamp': {
      // Within the tolerance, so that it is the signature that fails.
      const timestamp = TIMESTAMP + ((at % 299) + 1) * (by % 2 === 0 ? 1 : -1);
      message.headers['webhook-timestamp'] = String(timestamp);
      message.headers['x-service-signature'] = service.replace(`t=${TIMESTAMP}`, `t=${timestamp}`);
      break;
    }
    case 'signature':
      message.headers['webhook-signature'] = replaced(standard, 3 + (at % (standard.length - 4)), by);
      message.headers['x-service-signature'] = replaced(service, service.length - 1 - (at % 64), by);
      break;
    default:
      // Not the last character: some of its bits are padding, which no key has.
      message.secret = replaced(SECRET, 6 + (at % (SECRET.length - 7)), by);
  }
  return message;
}

function replaced(text: string, at: number, by: number): string {
  const old = text[at] ?? '';
  const place = ALPHABET.indexOf(old);
  const fresh = ALPHABET[(place + by) % ALPHABET.length] ?? '';
  return `${text.slice(0, at)}${fresh === old ? '-' : fresh}${text.slice(at + 1)}`;
}
