"""Writes tensorboard_golden.hex: the event file that tensorboardX makes of a few scalars.

    pip install tensorboardX==2.6.5 && python make_tensorboard_golden.py
"""
import pathlib

from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.record_writer import RecordWriter

here = pathlib.Path(__file__).parent
raw = here / "tensorboard_golden.tmp"
writer = RecordWriter(str(raw))
writer.write(Event(wall_time=1700000000.25, file_version="brain.Event:2").SerializeToString())
for step, values in [(1, {"episode/return": 21.5}), (300, {"loss": -0.125, "rate": 1e6})]:
    summary = Summary(value=[Summary.Value(tag=t, simple_value=v) for t, v in values.items()])
    event = Event(wall_time=1700000001.5 + step, step=step, summary=summary)
    writer.write(event.SerializeToString())
writer.close()
text = raw.read_bytes().hex()
raw.unlink()
lines = [text[i : i + 96] for i in range(0, len(text), 96)]
(here / "tensorboard_golden.hex").write_text("\n".join(lines) + "\n")
