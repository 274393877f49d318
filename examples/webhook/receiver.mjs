// Receives the sender's webhooks, with nothing but Node's own library.
//
//   node receiver.mjs SECRET_FILE [PORT]
//
// What makes it safe to act on what arrives (Standard Webhooks):
//   the signature   only who knows the secret can have sent it; during a rotation there are two, and one suffices
//   the timestamp   what was recorded long ago cannot be sent again
//   the id          the same event may come twice, and is acted on once
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [secretFile, port = '8099'] = process.argv.slice(2);
if (!secretFile) {
  console.error('usage: node receiver.mjs SECRET_FILE [PORT]');
  process.exit(2);
}
const secret = Buffer.from(readFileSync(secretFile, 'utf8').trim().replace(/^whsec_/, ''), 'base64');
const BODY_BYTES_MAX = 1 << 20;
const AGE_SECS_MAX = 300;

// Whether one of the signatures is ours, compared in constant time.
function isSigned(id, timestamp, body, header) {
  const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest();
  return header.split(' ').some((one) => {
    const [version, signature = ''] = one.split(',');
    const given = Buffer.from(signature, 'base64');
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

// In a real receiver this is a table with a unique key, written together with what follows from the event.
const seen = new Set();

function receive(headers, body) {
  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]);
  if (!id || !timestamp || !signature) return [400, 'headers are missing'];
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > AGE_SECS_MAX) return [400, 'too old'];
  if (!isSigned(id, timestamp, body, signature)) return [401, 'not signed by us'];
  if (seen.has(id)) return [200, 'known'];
  seen.add(id);
  const event = JSON.parse(body);
  console.log(`event ${id} ${event.type ?? ''} ${JSON.stringify(event.data ?? event)}`);
  return [200, 'taken'];
}

const server = createServer(async (request, response) => {
  const parts = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > BODY_BYTES_MAX) return response.writeHead(413).end();
    parts.push(part);
  }
  try {
    const [status, text] = receive(request.headers, Buffer.concat(parts));
    response.writeHead(status).end(`${text}\n`);
  } catch {
    response.writeHead(400).end('not an event\n');
  }
});
server.listen(Number(port), '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
