// One persona of a panel of verdicts, by docs/protocol.md alone: node agent.js URL PANEL PERSONA
import { AckPolicy, DeliverPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Objm } from "@nats-io/obj";
import { connect } from "@nats-io/transport-node";

const [servers, panel, persona] = process.argv.slice(2);
const WRONG_LAST_SEQUENCE = 10071;
const connection = await connect({ servers });
const stream = jetstream(connection);

const asks = `debate.*.${panel}.*.ctl.ask.*`;
await (await jetstreamManager(connection)).consumers.add("PARLEY", {
  durable_name: `${panel}-${persona}`,
  ack_policy: AckPolicy.Explicit,
  deliver_policy: DeliverPolicy.All,
  ack_wait: 5_000_000_000,
  max_deliver: 5,
  filter_subjects: [`${asks}.${persona}`, `${asks}.all`, `redrive.debate.*.${panel}.*.*.${persona}`],
});

async function requestOf(ask) {
  if (ask.request.kind !== "reference") return ask.request;
  const bucket = await new Objm(connection).open("parley-blobs");
  const blob = await bucket.getBlob(ask.request.blob.sha256);
  return JSON.parse(new TextDecoder().decode(blob));
}

function answer(ask, request) {
  if (request.kind === "opening") {
    const verdict = ask.input.text.includes("'%s'") ? "reject" : "approve";
    return { kind: "statement", verdict, confidence: 0.8, reasoning: "Read by JavaScript." };
  }
  if (request.kind === "round") {
    const own = request.standing.find((one) => one.agent === persona);
    return { kind: "reply", response_type: "defense", content: `Still ${own?.verdict}.` };
  }
  return { kind: "failure", reason: "unsupported_request", detail: `no answer to ${request.kind}` };
}

async function speak(message) {
  const ask = JSON.parse(message.string());
  if (!ask.personas.includes(persona) || message.headers?.has("Parley-Imported")) return;
  const began = performance.now();
  const alive = setInterval(() => message.working(), 1500);
  try {
    const content = answer(ask, await requestOf(ask));
    const [prefix, partition, , id] = message.subject.replace(/^redrive\./, "").split(".");
    const subject = [prefix, partition, panel, id, "turn", ask.step, persona].join(".");
    const seconds = (performance.now() - began) / 1000;
    const turn = { type: "turn", version: 1, step: ask.step, persona, content, brain: "javascript", seconds };
    await stream.publish(subject, JSON.stringify(turn), { expect: { lastSubjectSequence: 0 } });
  } catch (error) {
    if (error.code !== WRONG_LAST_SEQUENCE) throw error;   // otherwise the turn stands already
  } finally {
    clearInterval(alive);
  }
}

const queue = await stream.consumers.get("PARLEY", `${panel}-${persona}`);
console.log("ready");
for await (const message of await queue.consume({ max_messages: 1 })) {
  await speak(message).then(() => message.ack(), (error) => { console.error(error); message.nak(1000); });
}
