"""The register map as the tables of its page."""

from collections.abc import Iterable, Iterator

from warploom_spec import Config
from warploom_spec.host_commands import command_layouts, template_words
from warploom_spec.host_map import Word, section_words
from warploom_spec.host_registers import registers
from warploom_spec.queue_packets import final_record_words
from warploom_spec.word_layout import WordField, WordLayout


def map_table(config: Config) -> str:
    """Return the tables of registers, of a section, of the commands' words and of a record.

    With loops also of the first half of a template.
    """
    templates = (template_words(config),) if config.has_loops else ()
    return "\n".join(
        [
            "Registers:",
            "",
            *_words(registers(config), "address"),
            "",
            "A section:",
            "",
            *_words(section_words(config), "offset"),
            *(line for one in (*command_layouts(config), *templates) for line in _layout(one)),
            *_layout(final_record_words(config)),
        ]
    )


def _words(words: Iterable[Word], place: str) -> Iterator[str]:
    yield f"| {place} | word | access | fields | holds |"
    yield "| --- | --- | --- | --- | --- |"
    for word in words:
        fields = [
            f"{field.name} [{_places(field)}]{' (ro)' * (field.name in word.read_only)}"
            for field in word.fields
            if field.name != "value" or field.bits < 32
        ]
        acts = ", acts" if word.acts else ""
        yield (
            f"| 0x{word.offset:03X} | {word.name} | {word.access}{acts}"
            f" | {', '.join(fields)} | {word.meaning} |"
        )


def _layout(layout: WordLayout) -> Iterator[str]:
    yield ""
    yield f"Words of `{layout.name}`:"
    yield ""
    yield "| word | bits | field | holds |"
    yield "| --- | --- | --- | --- |"
    for word in range(layout.words):
        for field in layout.in_word(word):
            yield f"| {word} | {_places(field)} | {field.name} | {field.meaning} |"


def _places(field: WordField) -> str:
    return str(field.low) if field.bits == 1 else f"{field.high}:{field.low}"
