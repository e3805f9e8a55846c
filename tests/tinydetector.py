"""Random object detectors that are small enough for a test, as checkpoint folders."""

import torch

NAMES = {0: "cat", 1: "dog", 2: "kite"}


def write_detr(folder):
    """Write a random Deformable DETR with the settings of Detic's checkpoint."""
    from transformers import (
        DeformableDetrConfig,
        DeformableDetrForObjectDetection,
        DeformableDetrImageProcessor,
    )

    config = DeformableDetrConfig(
        use_timm_backbone=True,
        backbone="test_resnet",
        d_model=32,
        encoder_layers=1,
        encoder_ffn_dim=16,
        encoder_attention_heads=2,
        decoder_layers=2,
        decoder_ffn_dim=16,
        decoder_attention_heads=2,
        two_stage=True,
        two_stage_num_proposals=6,
        with_box_refine=True,
        id2label=NAMES,
        label2id={name: label for label, name in NAMES.items()},
    )
    model = DeformableDetrForObjectDetection(config)
    with torch.no_grad():  # otherwise all images and their objects have the same score
        for head in model.class_embed:
            head.weight.mul_(20)
    model.save_pretrained(folder)
    DeformableDetrImageProcessor().save_pretrained(folder)


def write_yolos(folder):
    """Write a random YOLOS, which takes no pixel mask."""
    from transformers import YolosConfig, YolosForObjectDetection, YolosImageProcessor

    config = YolosConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=[64, 64],
        num_detection_tokens=5,
        id2label=NAMES,
        label2id={name: label for label, name in NAMES.items()},
    )
    YolosForObjectDetection(config).save_pretrained(folder)
    YolosImageProcessor().save_pretrained(folder)


def write_lw_detr(folder):
    """Write a random LW-DETR, of four by four windows of 16 pixels, for images of 64 pixels."""
    from transformers import (
        DeformableDetrImageProcessor,
        LwDetrConfig,
        LwDetrForObjectDetection,
        LwDetrViTConfig,
    )

    windows = LwDetrViTConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        mlp_ratio=2,
        image_size=64,
        pretrain_image_size=64,
        window_block_indices=[0],
        out_indices=[1, 2],
        num_windows=16,
    )
    config = LwDetrConfig(
        backbone_config=windows,
        projector_scale_factors=[1.0],
        d_model=32,
        decoder_ffn_dim=16,
        decoder_layers=1,
        decoder_self_attention_heads=2,
        decoder_cross_attention_heads=2,
        num_queries=5,
        group_detr=1,
        id2label=NAMES,
        label2id={name: label for label, name in NAMES.items()},
    )
    LwDetrForObjectDetection(config).save_pretrained(folder)
    DeformableDetrImageProcessor(size={"height": 64, "width": 64}).save_pretrained(folder)
